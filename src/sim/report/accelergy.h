// The actions of a run as Accelergy reads them: its `action_counts`, version 0.4. Which component
// and action each is: ir-spec/energy.md.
#pragma once

#include <string>

#include "sim/common/program_result.h"

namespace fuseflow {

/// YAML; of all regions that were run together. Actions that do not happen are left out.
std::string accelergy_actions(const Program& program, const Machine& machine,
                              const ProgramRun& run);

}  // namespace fuseflow
