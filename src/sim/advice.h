// What frees a deadlock: a FIFO depth that was seen to do so. Nothing is advised that was not
// tried.
#pragma once

#include "machine/machine.h"
#include "sim/common/options.h"
#include "sim/common/run_result.h"
#include "sim/common/tensor_data.h"

namespace fuseflow {

/// Looks for the least `fifo_depth` with which a graph ends that deadlocks with the machine's: a
/// graph that ends with some depth ends with any larger one. Each depth is tried by simulating the
/// graph with it. The search is given up after some work (a number of tokens, so that it ends alike
/// everywhere), after options.max_seconds, or when the run is cancelled.
DepthAdvice find_fifo_depth(const Program& program, const Graph& graph, const TensorData& data,
                            const Machine& machine, const RunOptions& options);

}  // namespace fuseflow
