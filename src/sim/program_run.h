// Runs a lowered program: loads its tensors, runs its regions one after another, keeps what they
// write. Knows nothing of reports, checks or the command line.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "sim/common/program_result.h"
#include "sim/run.h"
#include "tensor/source.h"

namespace fuseflow {

/// Loads every input and constant that some statement or graph reads. Throws Error(rejected) for an
/// unbound input or data that disagrees with its declaration, Error(io) for a missing file. Large
/// tensors are loaded side by side on so many threads at most.
TensorData load_tensors(const Program& program, const LoadOptions& options = {}, int threads = 1);

/// Refuses (Error(rejected), with the reason) a graph that needs more units of a class or more
/// scratchpad than the machine has, and tiles on a machine without cores.
void check_fits(const Program& program, const Region& region, const Machine& machine);

/// Runs all regions (each has a graph). Ends with the first that does not finish. `before` is
/// called with the number of each region and the cycle at which it starts, before it is run.
ProgramRun run_program(const Program& program, TensorData data, const Machine& machine,
                       const RunOptions& options,
                       const std::function<void(size_t, int64_t)>& before = {});

}  // namespace fuseflow
