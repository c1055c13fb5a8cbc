// What follows from the text of a kernel of rows (graph/tile_rows.h) without unrolling it: what a
// core needs to hold, tiles of its nodes.
#pragma once

#include <cstdint>

#include "graph/tile_rows.h"
#include "sim/tiles/kernel_counts.h"

namespace fuseflow {

/// Bytes of registers and scratchpad of a core. Registers are those of two loops that follow each
/// other, and of all tiles (m); the scratchpad has copies of loads, places, tiles that are stored,
/// and what arrives of reductions that cores share.
KernelNeed rows_need(const Graph& graph);

/// Tiles of a node's result that all cores compute; of a reduction those that it takes.
int64_t rows_tiles_computed(const Graph& graph, const Node& node);

}  // namespace fuseflow
