// The fast executor: whole batches of tokens at a time, times as runs. Gives exactly what the naive
// executor (sim/naive/interpret.h) gives. How it works: ir-spec/simulation.md.
#pragma once

#include "machine/machine.h"
#include "sim/common/options.h"
#include "sim/common/run_result.h"
#include "sim/common/tensor_data.h"
#include "sim/functional/tuning.h"

namespace fuseflow {

RunResult run_fast(const Program& program, const Graph& graph, const TensorData& data,
                   const Machine& machine, const RunOptions& options,
                   const EngineTuning& tuning = {});

}  // namespace fuseflow
