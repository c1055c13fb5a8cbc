// The interface of the simulator's executors: run one graph on one machine. Two executors implement
// it: `naive` (sim/naive/), the executable specification, one step at a time, and `fast`
// (sim/fast_executor.h), chunks of tokens at a time. Both give equal results, counts and cycles on
// every graph. Semantics: ir-spec/nodes.md; timing, counting rules: ir-spec/timing.md.
#pragma once

#include "ir/program.h"
#include "machine/machine.h"
#include "sim/common/node_timing.h"
#include "sim/common/options.h"
#include "sim/common/run_result.h"
#include "sim/common/tensor_data.h"

namespace fuseflow {

/// Runs a verified graph. `data` holds every tensor that the graph reads and does not write. Throws
/// Error(internal) when streams that must agree do not (a defect of the lowering), Error(rejected)
/// when data and graph disagree.
RunResult run_graph(const Program& program, const Graph& graph, const TensorData& data,
                    const Machine& machine, const RunOptions& options);

}  // namespace fuseflow
