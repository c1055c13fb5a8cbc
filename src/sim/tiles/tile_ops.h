// Operations on tiles as data, of all forms of graphs of tiles: what each one moves and computes,
// with edges for the tiles that flow (operands) and for the space they need (order). Who makes them
// is in expand.h, kernel.h and rows.h, timing in launch.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "graph/graph.h"
#include "sim/tiles/lanes.h"

namespace fuseflow {

inline constexpr int64_t kAccumulatorBytes = 4;  ///< partial sums are f32 at every level
inline constexpr int64_t kMostTileOps = int64_t{1} << 22;
inline constexpr int32_t kNone = -1;  ///< no operation

/// Bytes of an element that several clusters add to in memory: those of a partial sum, or those of
/// the result where it has more, for they must all be written.
inline int64_t added_bytes(int64_t result_bytes) {
  return std::max(kAccumulatorBytes, result_bytes);
}

/// Bytes that cross each level. A byte over a link is also read from and written to a scratchpad.
/// Of an operation and of closed forms, `global_*` is what the core loads and stores; of a
/// simulation it is what DRAM moves, and on a machine with an L2 `l2_*` is what the cores do.
struct LevelBytes {
  int64_t registers = 0;
  int64_t scratchpad_read = 0;
  int64_t scratchpad_write = 0;
  int64_t link = 0;
  int64_t global_read = 0;
  int64_t global_write = 0;
  int64_t l2_read = 0;
  int64_t l2_write = 0;
  int64_t l2_add = 0;  ///< the part of `l2_write` that is added to sums
  int64_t global() const { return global_read + global_write; }
  /// From memory into the scratchpad.
  void load(int64_t bytes) {
    global_read += bytes;
    scratchpad_write += bytes;
  }
  /// From the scratchpad into those of other cores.
  void send(int64_t bytes) {
    link += bytes;
    scratchpad_read += bytes;
    scratchpad_write += bytes;
  }
  /// Over the scratchpad to memory.
  void store(int64_t bytes) {
    scratchpad_write += bytes;
    scratchpad_read += bytes;
    global_write += bytes;
  }
  LevelBytes& operator+=(const LevelBytes& other);
  bool operator==(const LevelBytes&) const = default;
};
LevelBytes operator*(int64_t factor, const LevelBytes& bytes);

enum class TileOpKind : uint8_t {
  load,      ///< a tile from global memory
  multiply,  ///< acc (+)= left * right on the matrix unit
  send,      ///< tiles over the links to the other cores of a group
  sum,       ///< exchange: this core's rows of C, summed over the group, and mapped
  finish,    ///< a whole C tile put where it is held (mapped here when nothing was exchanged)
  fetch,     ///< held C brought back from linked scratchpads or global memory
  spill,     ///< a partial E tile put where it is held
  refill,    ///< what was spilled is fetched again
  reduce,    ///< reduce-scatter: this core's rows of E, summed over the group
  store,     ///< E to global memory; to sums there, where clusters share it (`adders`)
  settle,    ///< the last that added brings sums to their type, stores them, clears them
  map,       ///< an elementwise operator or a reduction of rows on one tile (kernels)
};

/// Row and column are element offsets of the tile in its dimensions, for the cluster at the origin.
struct TileOp {
  TileOpKind kind = TileOpKind::load;
  uint8_t core = 0;
  bool late = false;   ///< waits for the matrix unit's pipeline to drain
  bool alone = false;  ///< of a load: no multicast brings it
  int32_t node = -1;   ///< of the graph
  int32_t row = 0, col = 0;
  int32_t rows = 0, cols = 0;  ///< of a send: what each of the other cores gets
  int32_t depth = 0;           ///< of a product: what it sums over
  /// A number that is equal for the loads of a tile (and the sends that pass one on) that cores
  /// make at the same point of their programs. -1: these are the first load of each core, the
  /// second of each, ..
  int32_t turn = -1;
  /// Of a store: clusters that add to its tile. With several it counts itself when it has added; a
  /// `settle` whose first operand it is does what it does for the last of them, else nothing.
  int32_t adders = 1;
  LevelBytes bytes;
  int64_t flops = 0;                        ///< of the matrix unit
  int64_t other_flops = 0;                  ///< sums and operators, on lanes or in memory
  LaneWork lanes;                           ///< elementwise work
  int32_t first_operand = 0, operands = 0;  ///< range in TileOps::edges: data
  int32_t first_order = 0, orders = 0;      ///< range in TileOps::edges: space
  int32_t first_piece = 0, pieces = 0;      ///< range in TileOps::pieces: a gathered load
  /// What a product of so many rows and columns computes that sums `k` each.
  void multiply(int64_t m, int64_t n, int64_t k) {
    rows = static_cast<int32_t>(m);
    cols = static_cast<int32_t>(n);
    depth = static_cast<int32_t>(k);
    flops = 2 * m * n * k;
  }
};

inline TileOp op_of(TileOpKind kind, NodeId node, int core = 0) {
  TileOp op;
  op.kind = kind;
  op.core = static_cast<uint8_t>(core);
  op.node = node;
  return op;
}

struct TileOps {
  std::vector<TileOp> nodes;  ///< in a topological order
  std::vector<int32_t> edges;
  std::vector<int32_t> pieces;  ///< tiles that gathered loads load one by one, as TileOp::row
  int cores = 1;

  /// Appends an operation with edges to others, of which some may be kNone; its number.
  template <typename Operands = std::initializer_list<int32_t>,
            typename Order = std::initializer_list<int32_t>>
  int32_t add(TileOp op, const Operands& operands, const Order& order) {
    op.first_operand = static_cast<int32_t>(edges.size());
    op.operands = add_edges(operands);
    op.first_order = static_cast<int32_t>(edges.size());
    op.orders = add_edges(order);
    nodes.push_back(op);
    return static_cast<int32_t>(nodes.size()) - 1;
  }

 private:
  template <typename Ops>
  int32_t add_edges(const Ops& to) {
    const size_t before = edges.size();
    for (const int32_t op : to) {
      if (op != kNone) edges.push_back(op);
    }
    return static_cast<int32_t>(edges.size() - before);
  }
};

/// What follows a store that adds, for `result_bytes` of the result: the sums read, zeros in their
/// place, the result. It is of the store's node and tile.
TileOp settle_after(const TileOp& store, int64_t result_bytes);

/// Operations know their tiles by numbers of 31 bits. Throws Error(unfinished) where a load of a
/// kernel has more.
void check_tile_numbers(const Graph& graph);

}  // namespace fuseflow
