// A kernel of rows unrolled (graph/tile_rows.h): the operations of every cluster. What they move
// and need is in rows_counts.h, timing in timing.h, values in values.h.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/tiles/tile_ops.h"

namespace fuseflow {

/// One for each cluster at work: of P clusters, c has the groups of tiles of rows c, c + P, c + 2 P
/// and so on, a tile of rows for each row of its cores. Throws Error(unfinished) above 2^22
/// operations of all cores.
std::vector<TileOps> expand_rows(const Graph& graph, int64_t clusters);

}  // namespace fuseflow
