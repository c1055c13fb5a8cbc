// What follows from the text of a kernel of tiles (graph/tile_kernel.h) without unrolling it: bytes
// that nothing can avoid, what a core needs to hold, FLOPs.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/tile_kernel.h"
#include "sim/tiles/lanes.h"

namespace fuseflow {

/// The tiles of a load that the cores take, each once, as the operations number them (TileOp::row);
/// of a kernel that leaves steps out those of its walk. Ascending.
std::vector<int64_t> walked_tiles(const Graph& graph, const Node& load);

/// The tiles that a product takes of its sparse operand, of how many; the others have no value.
struct TilesPresent {
  int64_t present = 0, all = 0;
};
TilesPresent tiles_present(const Graph& graph);

/// Bytes of registers (what nodes give, f32) and scratchpad (copies of loads, the tile that is
/// stored) of a core.
struct KernelNeed {
  int64_t registers = 0, scratchpad = 0;
};
KernelNeed kernel_need(const Graph& graph);

/// Bytes of an element that the store writes, or adds to what other clusters wrote.
int64_t stored_bytes(const Graph& graph, const Node& store);

/// Elements of f32 that a core sends to each other one in an exchange.
int64_t sent_elements(const Graph& graph, const Node& exchange);
/// Bytes that a core of a cluster gets of the others in an exchange, which are as many as it sends.
int64_t exchanged_bytes(const Graph& graph, const Node& exchange);

/// Steps of k whose tiles there is room for.
int64_t steps_at_a_time(const Graph& graph, const KernelRoles& roles);

/// Elements of one operation of a product: its result's rows and columns, and what it sums over.
struct ProductExtents {
  int64_t rows = 1, columns = 1, depth = 1;
};
ProductExtents product_extents(const Graph& graph, const Node& product);

/// What one operation of a map, a reduction or an exchange takes of the lanes, but for rescaling.
LaneWork kernel_lanes(const Graph& graph, const Node& node);

/// That and FLOPs, by node, of those that work on lanes.
struct OnLanes {
  LaneWork lanes;
  int64_t flops = 0;
};
std::vector<OnLanes> work_on_lanes(const Graph& graph);

}  // namespace fuseflow
