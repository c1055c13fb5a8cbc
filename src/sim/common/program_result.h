// What a run of a program gives: the results of its regions, and their sums.
#pragma once

#include <vector>

#include "machine/machine.h"
#include "sim/common/run_result.h"
#include "sim/common/tensor_data.h"

namespace fuseflow {

struct ProgramRun {
  std::vector<RunResult> regions;  ///< of the regions that were run, in order
  TensorData data;                 ///< inputs and everything written
  Finish finish = Finish::done;    ///< of the last region
  double seconds = 0;              ///< host time of the simulation alone
};

/// Cycles of the regions that were run, with the reconfigurations between them.
int64_t total_cycles(const ProgramRun& run, const Machine& machine);

/// The counts of all regions that were run together: sums, the largest peak, total_cycles.
RunResult total_counts(const ProgramRun& run, const Machine& machine);

}  // namespace fuseflow
