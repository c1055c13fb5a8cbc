// A kernel of rows (graph/tile_rows.h) on a core of the chip: which of its streams lie in the
// scratchpad between its loops, which loads arrive in rings, and how a loop's products become what
// it gives. What needs neither a product nor other cores is made again where it is read.
#pragma once

#include <cstdint>
#include <vector>

#include "chip/fit.h"
#include "graph/tile_rows.h"

namespace fuseflow::chip {

/// Room for the tiles of a stream of rows, in elements; streams of one size take turns.
struct RowsRoom {
  int64_t rows = 0, columns = 0;  ///< of a tile, multiples of kUnit
  int64_t tiles = 0;              ///< of all cores that share the rows, if `everywhere`
  bool everywhere = false;        ///< every core gets the tiles of the others
};

/// A ring that one load has, or weights whose tiles are as large.
struct RowsRing {
  int64_t copies = 0, bytes = 0;
  bool whole = false;  ///< it has all tiles of a tile of rows, which stay
};

/// How a loop gives what it computes.
enum class RowsWay : uint8_t {
  direct,  ///< work on sums gives its only result
  rows,    ///< sums go to the scratchpad in f32, where warps work on rows
};

struct RowsOnCore {
  bool on_core = false;   ///< else threads read memory and write it, a row a warp
  int64_t tile_rows = 0;  ///< with those that fill a product, or a copy of 16 bytes
  std::vector<RowsRoom> rooms;
  std::vector<int> room_of;  ///< by stream: into `rooms`; -1: it is made again, or in registers
  std::vector<RowsRing> rings;
  std::vector<int> ring_of;                   ///< by node, of loads that products take; -1
  std::vector<StreamId> reduced;              ///< what rows are reduced to, in f32
  std::vector<RowsWay> ways;                  ///< by loop of RowsShape
  std::vector<std::vector<NodeId>> products;  ///< by loop
  std::vector<SumsSize> staged;  ///< sums in the scratchpad, for loops `rows`: the largest of each
};

/// Needs a graph that verify_rows (nodes/rows_check.h) accepts.
RowsOnCore rows_on_core(const Graph& graph);

/// Rings, then room of streams, of staged sums, of reduced rows (of every core that shares them).
Needs rows_needs(const Graph& graph, const RowsOnCore& core);

/// The sums of a product.
SumsSize product_sums(const Graph& graph, const Node& product);

}  // namespace fuseflow::chip
