// What one region leaves for another in the scratchpad, instead of writing it to memory to be read
// again: chosen by the cost model.
#pragma once

#include "ir/program.h"
#include "machine/machine.h"
#include "passes/cost_model.h"
#include "passes/pass.h"

namespace fuseflow {

/// Lets intermediates stay in the scratchpad from region to region, those with the most traffic
/// first, wherever the regions that it concerns fit and are expected to take no longer. Where
/// the scratchpad has no limit and memory takes no time the program stays as it is.
Program pass_on_chip(Program program, const Machine& machine, CostModel& costs, PassLog& log);

/// Passes intermediates on, on chip, and then calls keep_reused_inputs(): what waited for memory
/// before may wait for an input now.
Program pass_on_and_reuse(Program program, const Machine& machine, CostModel& costs, PassLog& log);

}  // namespace fuseflow
