// Search over the formats in which a program's tensors are stored, by estimated cycles.
#pragma once

#include <map>
#include <vector>

#include "passes/cost_model.h"
#include "passes/pass.h"

namespace fuseflow {

/// Climbs from the formats as given: one tensor at a time, in the order of `forms`, is read
/// otherwise by one access, one region, or all. The cost model has learned the program. Notes what
/// it changed, and if `verbose` what else it tried; gives whether it changed anything.
bool search_storage(Program& program, const std::map<TensorId, std::vector<Format>>& forms,
                    CostModel& costs, bool verbose, PassLog& log);

}  // namespace fuseflow
