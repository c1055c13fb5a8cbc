// Runs the graph of a conversion (node `convert`): its counts follow from how much is stored
// (conversion.h), its result is the copy as loaded from the source that both have. All executors
// run it so.
#pragma once

#include "ir/program.h"
#include "machine/machine.h"
#include "sim/common/options.h"
#include "sim/common/run_result.h"
#include "sim/common/tensor_data.h"

namespace fuseflow {

/// `data` holds the tensor and its copy. Throws Error(internal) where the copy is missing.
RunResult run_conversion(const Program& program, const Graph& graph, const TensorData& data,
                         const Machine& machine, const RunOptions& options);

}  // namespace fuseflow
