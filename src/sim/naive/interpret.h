// The naive executor: every node a state machine that does one step at a time, every token a record
// with its time. It is the executable form of ir-spec/nodes.md and ir-spec/timing.md and the oracle
// that the fast engine is tested against; clarity comes before speed.
#pragma once

#include "machine/machine.h"
#include "sim/common/options.h"
#include "sim/common/run_result.h"
#include "sim/common/tensor_data.h"

namespace fuseflow {

RunResult interpret_graph(const Program& program, const Graph& graph, const TensorData& data,
                          const Machine& machine, const RunOptions& options);

}  // namespace fuseflow
