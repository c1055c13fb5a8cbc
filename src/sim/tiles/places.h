// The clusters of a chain, and which tile of which tensor an operation of one loads or stores: what
// an L2 knows a tile by.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/tiles.h"
#include "sim/tiles/tile_cache.h"
#include "sim/tiles/tile_ops.h"

namespace fuseflow {

/// The cluster's coordinates: how many steps it is away from the origin along spatial dimensions.
using ClusterAt = Extents;

/// Clusters of a graph, M outermost and L innermost.
std::vector<ClusterAt> clusters_of(const Graph& graph);

/// Whether the cluster adds what follows the second product (bias, residual): the first of those
/// that share a range of E does.
bool adds_epilogue(const ClusterAt& at);

/// Elements by which the tiles of a node move on with each step of a cluster along a dimension.
struct TileStride {
  Extents row{{0, 0, 0, 0}}, col{{0, 0, 0, 0}};
};

struct TilePlaces {
  std::vector<ClusterAt> clusters;
  std::vector<TileStride> nodes;  ///< by TileOp::node

  /// Tiles of two nodes are different ones, even where they are of the same tensor.
  TileKey key(int32_t cluster, const TileOp& op) const;
};

/// The places of a graph's tiles, its clusters in the order of `clusters_of`.
TilePlaces places_of(const Graph& graph);

/// A tile that only the cluster itself knows: what its operation `op` put into memory.
inline TileKey private_key(int32_t cluster, int32_t op) {
  return {-1, cluster, op};
}

}  // namespace fuseflow
