// Search over the formats in which a program's tensors are stored, by estimated cycles.
#pragma once

#include <utility>
#include <vector>

#include "passes/cost_model.h"
#include "passes/pass.h"

namespace fuseflow {

/// Tensors and the formats that are tried of each.
using TensorForms = std::vector<std::pair<TensorId, std::vector<Format>>>;

/// Climbs from the formats as given: one tensor at a time, in the order of `forms`, is read
/// otherwise by one access, one region, or all; an intermediate is written otherwise. The cost
/// model has learned the program. Notes what it changed, and if `verbose` what else it tried; gives
/// whether it changed anything.
bool search_storage(Program& program, const TensorForms& forms, CostModel& costs, bool verbose,
                    PassLog& log);

}  // namespace fuseflow
