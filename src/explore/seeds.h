// The groupings of kernels that a search starts from and must not be worse than: the strategies of
// fuseflow-fuse, and programs that the user gives.
#pragma once

#include <vector>

#include "explore/points.h"

namespace fuseflow {

/// `none`, `layer`, `full` and `auto` for these kernels; without `auto` where there is nothing to
/// fuse, or graphs are given.
std::vector<Seed> strategy_seeds(const Program& kernels, const Machine& machine);

/// The regions of `program`, which are made of the same kernels; schedules are taken over where
/// they only name tensors of `kernels`, graphs for cores as they are. Throws Error(rejected) for
/// another program, and for a region that is not a run of consecutive kernels.
Seed given_seed(const Program& kernels, const Program& program, const std::string& name);

/// The regions of `program` that are planned for cores and are runs of whole kernels; all other
/// kernels are regions of their own. Without parts if there is no such region.
Seed planned_seed(const Program& kernels, const Program& program, const std::string& name);

}  // namespace fuseflow
