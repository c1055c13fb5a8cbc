// From the times of a graph of tiles to the counts of its nodes and streams, as reports show them.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "sim/common/run_result.h"
#include "sim/tiles/timing.h"

namespace fuseflow {

/// Fills nodes, streams, FLOPs, tokens and the peak of `result`, whose cycles are known and whose
/// lists have their sizes. `times` has an entry for each node.
void count_tiles(const Graph& graph, const std::vector<TileNodeTime>& times, RunResult& result);

}  // namespace fuseflow
