// What follows from the text of a kernel of tiles (graph/tile_kernel.h) without unrolling it: bytes
// that nothing can avoid, what a core needs to hold, FLOPs.
#pragma once

#include "graph/tile_kernel.h"
#include "sim/tiles/conservation.h"

namespace fuseflow {

/// Every tile of every load that is walked, and of the result, once, with its padding.
CompulsoryBytes compulsory_kernel_bytes(const Graph& graph);

/// Bytes of registers (what nodes give, f32) and scratchpad (copies of loads, the tile that is
/// stored) of a core.
struct KernelNeed {
  int64_t registers = 0, scratchpad = 0;
};
KernelNeed kernel_need(const Graph& graph);

/// Steps of k whose tiles there is room for.
int64_t steps_at_a_time(const Graph& graph, const KernelRoles& roles);

/// FLOPs of one operation of a node, but for rescaling.
int64_t kernel_flops(const Graph& graph, const Node& node);

/// FLOPs of all operations of a node, of which there were so many.
int64_t kernel_flops(const Graph& graph, const Node& node, int64_t operations);

}  // namespace fuseflow
