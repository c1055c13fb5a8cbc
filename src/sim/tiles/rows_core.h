// What one core has while a kernel of rows is unrolled: copies of loads, tiles in registers and in
// places of its scratchpad, and what has read each of them, as numbers of operations.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "graph/tile_rows.h"

namespace fuseflow {

using OpIds = std::vector<int32_t>;

/// The buffer of a load, or of several: the tiles that its copies have, overwritten in the order of
/// loading.
struct RowsBuffer {
  using Tile = std::pair<NodeId, int64_t>;  ///< the load, and which of its tiles
  struct Copy {
    Tile tile{-1, -1};
    int32_t op = -1;
    OpIds readers;
  };
  std::vector<Copy> copies;
  std::map<Tile, size_t> copy_of;  ///< by tile
  size_t next = 0;

  /// The copy that has the tile; null: it has to be loaded.
  Copy* find(const Tile& tile);
  /// The copy that a new tile is loaded to; what its readers have to end before.
  Copy& replace(const Tile& tile);
};

/// A stream's tile in registers, perhaps in several copies in turn.
struct RowsRegister {
  struct Copy {
    int32_t op = -1;
    OpIds readers;
  };
  std::vector<Copy> copies;
  size_t current = 0;
  OpIds drained;  ///< products that what made it has waited for

  Copy& at() { return copies[current]; }
  void turn() { current = (current + 1) % copies.size(); }
};

struct RowsCore {
  RowsCore(const Graph& graph, const RowsShape& shape);

  std::vector<RowsBuffer> buffers;
  std::vector<RowsRegister> registers;   ///< by stream
  std::vector<std::vector<OpIds>> room;  ///< by place and tile: readers of what is there
  std::vector<OpIds> made;               ///< by stream and tile of its width: what put it there
  OpIds last_loop, loop_before;          ///< the last operations of the loops before
  std::vector<int64_t> at;               ///< the tile along each dimension
};

}  // namespace fuseflow
