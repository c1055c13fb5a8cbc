// What people read about a run, on standard error: bottlenecks, the roofline, why it did not
// finish. No CSV (sim/report/csv.h).
#pragma once

#include <string>

#include "sim/common/program_result.h"

namespace fuseflow {

/// For each region the busiest node, what held it up, and the position on the roofline; then what
/// the layers of the model took, and the speed of the run.
std::string bottleneck_summary(const Program& program, const Machine& machine,
                               const ProgramRun& run);

/// Why a run did not finish.
std::string describe_finish(const Program& program, const ProgramRun& run);

}  // namespace fuseflow
