// Which tile of which tensor an operation of a cluster loads or stores: what an L2 knows a tile by.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/tiles/expand.h"
#include "sim/tiles/tile_cache.h"

namespace fuseflow {

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

/// Of a graph of tiles, its clusters as `clusters_of` gives them.
TilePlaces places_of(const Graph& graph);

/// A tile that only the cluster itself knows: what its operation `op` put into memory.
inline TileKey private_key(int32_t cluster, int32_t op) {
  return {-1, cluster, op};
}

}  // namespace fuseflow
