// A kernel of tiles unrolled (graph/tile_kernel.h): the operations of every core. What they move
// and need is in kernel_counts.h, timing in timing.h, values in values.h.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/tiles/tile_ops.h"

namespace fuseflow {

/// Tiles of rows and columns: those of the result, or, where the cores of a cluster share the
/// columns, the parts of one that each of them has.
int64_t kernel_tile_count(const Graph& graph);

/// One list of operations for each cluster at work. Tiles are dealt in groups of as many rows as a
/// cluster has cores: cluster c of P has the groups c, c + P, c + 2 P... `over_links`: what several
/// of its cores load together one of them loads and sends to the others (forwarded_loads.h).
/// Throws Error(unfinished) above 2^22 operations of all cores.
std::vector<TileOps> expand_kernel(const Graph& graph, int64_t clusters, bool over_links);

}  // namespace fuseflow
