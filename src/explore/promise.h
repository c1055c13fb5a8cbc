// In which order the points of a search are simulated. Reads the table, changes nothing.
#pragma once

#include <vector>

#include "explore/trial_table.h"

namespace fuseflow {

/// Fixed from the start: the regions of the estimated best partition, the estimated best of every
/// kernel alone, and the regions of seeds that share copies of inputs, of which no region by itself
/// says what it takes; positions in the table. Throws Error(rejected) where no program is possible,
/// naming why.
std::vector<size_t> first_points(const TrialTable& table, const Program& kernels,
                                 const Machine& machine, const std::vector<Seed>& seeds);

/// All open trials: the most promising of kernels alone, the seeds', then all others by the
/// estimate of the best program with each.
std::vector<size_t> by_promise(const TrialTable& table);

}  // namespace fuseflow
