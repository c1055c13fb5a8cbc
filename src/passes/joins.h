// How the joins of a loop are found: merged, located, by words, galloping. Lists, sets and chooses
// them by estimated cycles (the lines `join j = ..` of schedules).
#pragma once

#include "passes/cost_model.h"
#include "passes/pass.h"

namespace fuseflow {

/// Gives the regions without a graph those forms of their joins with which they are expected to be
/// faster than as given, by 5% or more. `verbose`: what else was tried.
Program choose_joins(Program program, CostModel& costs, bool verbose, PassLog& log);

}  // namespace fuseflow
