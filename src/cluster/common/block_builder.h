// The operations of a kernel whose blocks are alike: tiles loaded, computed and stored by a core or
// by a few that share loads.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "sim/tiles/places.h"
#include "sim/tiles/tile_ops.h"

namespace fuseflow::cluster {

/// Tiles that an L2 holds from the start, with their bytes.
using HeldTiles = std::vector<std::pair<TileKey, int64_t>>;

/// Adds nodes to a graph of a one-core block.
class BlockBuilder {
 public:
  uint8_t core = 0;  ///< of what is added

  int32_t add(TileOp node, std::initializer_list<int32_t> operands, int32_t order = kNone) {
    node.core = core;
    return graph_.add(node, operands, {order});
  }

  /// A tile of a tensor at a row and column.
  int32_t load(const TileKey& tile, int64_t elements, int64_t element_bytes, int32_t order,
               bool alone = false) {
    TileOp node = at(tile);
    node.alone = alone;
    node.kind = TileOpKind::load;
    node.bytes.load(elements * element_bytes);
    return add(node, {}, order);
  }

  static TileOp at(const TileKey& tile) {
    TileOp node;
    node.node = static_cast<int32_t>(tile.tensor);
    node.row = static_cast<int32_t>(tile.row);
    node.col = static_cast<int32_t>(tile.col);
    return node;
  }

  TileOps take(int cores = 1) {
    graph_.cores = cores;
    return std::move(graph_);
  }

 private:
  TileOps graph_;
};

}  // namespace fuseflow::cluster
