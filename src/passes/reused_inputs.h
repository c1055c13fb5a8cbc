// Inputs that a region reads more often than once: kept in the scratchpad for the region, while
// they fit and it pays. What regions pass on to each other is pass_on_chip.h's.
#pragma once

#include <optional>

#include "machine/machine.h"
#include "passes/cost_model.h"
#include "passes/pass.h"

namespace fuseflow {

/// By `costs`: those that pay, one after the other, those first that save most reads; or all
/// together, where that is better. `cost` is the region's, and is kept up to date. Without `costs`
/// all that fit are kept.
void keep_reused_inputs(Program& program, size_t region, const Machine& machine, CostModel* costs,
                        std::optional<Cost>& cost, PassLog& log);

/// Keeps reused inputs in all regions that have no graph. A scratchpad without limits decides
/// nothing: there the program stays as it is.
Program keep_reused_inputs(Program program, const Machine& machine, CostModel& costs, PassLog& log);

}  // namespace fuseflow
