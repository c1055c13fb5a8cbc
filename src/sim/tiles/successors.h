// The operations after each one, the transpose of the edges of a program of tiles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/tiles/tile_ops.h"

namespace fuseflow {

/// The operation before edge `e` of another one.
inline size_t op_before(const TileOps& ops, const TileOp& op, int32_t e) {
  const size_t edge = static_cast<size_t>(op.first_operand) + static_cast<size_t>(e);
  return static_cast<size_t>(ops.edges[edge]);
}

struct Successors {
  std::vector<int32_t> first;  ///< by operation: its first edge in `nodes`; one more for the end
  std::vector<int32_t> nodes;  ///< by edge: the operation after it
  std::vector<int32_t> waits;  ///< by operation: how many edges lead to it
  /// By edge: it says that there is room, and another core has to know.
  std::vector<bool> signals;

  explicit Successors(const TileOps& ops);
};

}  // namespace fuseflow
