// What a region reads more often than once and does not compute, inputs and what other regions
// compute: loaded into the scratchpad when the region starts, while it fits and it pays. What stays
// there from region to region is pass_on_chip.h's.
#pragma once

#include <optional>
#include <vector>

#include "machine/machine.h"
#include "passes/cost_model.h"
#include "passes/pass.h"

namespace fuseflow {

struct ReusedInput {
  TensorId tensor = -1;
  double reads = 0;
  double entries = 0;
};

/// Those that the region's statements name and that its graph does not keep, the most saving ones
/// first. `graph`: of the region, as lowered in `program`.
std::vector<ReusedInput> reused_inputs(const Program& program, const Graph& graph,
                                       const Region& region);

/// Keeps all that fit, whatever they gain. Gives whether there are any. `known`: phases that were
/// lowered before.
bool keep_all_reused(Program& program, size_t region, const Machine& machine, KnownPhases& known,
                     PassLog& log);

/// By `costs`: those that pay, one after the other, those first that save most reads; or all
/// together, where that is better. `cost` is the region's, and is kept up to date. Without `costs`
/// all that fit are kept.
void keep_reused_inputs(Program& program, size_t region, const Machine& machine, CostModel* costs,
                        std::optional<Cost>& cost, PassLog& log);

/// Keeps reused inputs in all regions that have no graph. Where the scratchpad has no limit and
/// memory takes no time the program stays as it is.
Program keep_reused_inputs(Program program, const Machine& machine, CostModel& costs, PassLog& log);

}  // namespace fuseflow
