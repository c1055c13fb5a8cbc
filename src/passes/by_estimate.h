// What passes that choose by estimate have in common: the options of the machine, and what `auto`
// gives.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "machine/machine.h"
#include "passes/pass.h"

namespace fuseflow {

/// That which the tool hands in, else that of the options `machine` (default: ideal) and
/// `machine-set`. Throws what load_machine() throws.
Machine machine_of(const PassArguments& arguments);

/// What `choose` makes of a program by the costs of the machine, unless that is slower as
/// simulated; the program as it is where there are no costs.
Program by_estimate(const Program& given, const PassArguments& arguments, PassLog& log,
                    const std::function<Program(CostModel& costs)>& choose);

/// A number of parallel copies, from 1 to 65536. Throws Error(usage) naming the option.
int64_t parse_copies(std::string_view option, const std::string& text);

}  // namespace fuseflow
