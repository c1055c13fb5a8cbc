// The pass `fuse`: which kernels share a region.
#pragma once

#include "machine/machine.h"
#include "passes/cost_model.h"
#include "passes/pass.h"

namespace fuseflow {

Pass fuse_pass();

/// What --strategy=auto makes of a program on a machine, by these costs. Graphs are dropped.
Program fuse_by_cost(const Program& program, const Machine& machine, CostModel& costs);

}  // namespace fuseflow
