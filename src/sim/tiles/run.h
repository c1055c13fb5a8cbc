// Runs a region whose graph is one of tiles: timing, values and counts, as run_graph gives them for
// every graph.
#pragma once

#include "machine/machine.h"
#include "sim/common/options.h"
#include "sim/common/run_result.h"
#include "sim/common/tensor_data.h"

namespace fuseflow {

/// Everything but values and results: what an estimate needs. Errors as run_tiles.
RunResult time_tiles_region(const Graph& graph, const Machine& machine,
                            const RunOptions& options = {});

/// Runs a graph of tiles, as run_graph does one of streams. Throws Error(rejected) when a core
/// cannot hold what the graph keeps on it, or a cluster has more cores than the machine.
RunResult run_tiles(const Program& program, const Graph& graph, const TensorData& data,
                    const Machine& machine, const RunOptions& options);

}  // namespace fuseflow
