// What nodes of a graph of tiles compute on the tiles at hand: the part of values.h that knows no
// loops.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/tiles/tile_access.h"

namespace fuseflow {

using Tile = std::vector<float>;  ///< row-major in the order of its stream's dimensions

/// What a load gives for a position: the fill outside of the tensor, 0 in padding.
float element_at(const Storage& storage, int64_t position);

/// Nodes, evaluated on the tiles at hand.
class TileNodes {
 public:
  TileNodes(const TileNodes&) = delete;
  TileNodes& operator=(const TileNodes&) = delete;
  virtual ~TileNodes() = default;

 protected:
  explicit TileNodes(const Graph& graph) : g_(graph), at_(graph.indices.size(), 0) {}

  virtual Tile& value(StreamId s) = 0;  ///< the tile of a stream that is there now

  const Node& node(NodeId n) const { return g_.nodes[static_cast<size_t>(n)]; }
  const GraphIndex& index(int dim) const { return g_.indices[static_cast<size_t>(dim)]; }
  const std::vector<int>& dims_of(StreamId s) const {
    return g_.streams[static_cast<size_t>(s)].block;
  }
  size_t block(int dim) const { return static_cast<size_t>(index(dim).block); }
  /// Elements of the tile at hand along a dimension that exist.
  size_t present(int dim) const;

  void map(const Node& at);
  /// Adds the left tile times the right one to a tile: the sum over those of `summed` that exist.
  void multiply_add(const Node& at, int summed, Tile& out);
  /// Combines the rows of a tile with what there is of each so far.
  void reduce_rows(const Node& at, int summed, Tile& out);
  /// Divides the sums of a mean.
  void finish(const Node& at, int summed);

  const Graph& g_;
  std::vector<int64_t> at_;  ///< the tile along each dimension
};

}  // namespace fuseflow
