// `fuseflow-sim --what-if KEY=VALUE[,VALUE]`: the program simulated again with each value, as CSV.
#pragma once

#include <string>
#include <vector>

#include "sim/common/program_result.h"
#include "whatif/region_trials.h"

namespace fuseflow {

/// The settings that `KEY=VALUE[,VALUE]` stands for, one a value. Throws Error(usage) for anything
/// else.
std::vector<std::string> settings_of(const std::string& option);

/// A row for the run as it is, then one for each setting alone. `inputs`: what the program reads.
/// Machines that are refused, and runs that do not finish, have a row that says so.
std::string what_if_csv(const Program& program, const TensorData& inputs, const Machine& machine,
                        const MachineWith& machine_with, const std::vector<std::string>& settings,
                        const ProgramRun& run, const RunOptions& options);

}  // namespace fuseflow
