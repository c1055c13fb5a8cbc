// Which runs of kernels a search tries more for: sets of placements and copies take too long for
// all of them. Reads the table, adds nothing to it.
#pragma once

#include <vector>

#include "explore/search_state.h"

namespace fuseflow {

/// Each kernel by itself: what all is compared with.
std::vector<Interval> kernels_alone(size_t kernels);

/// The seeds' regions, without kernels alone.
std::vector<Interval> runs_of_seeds(const std::vector<Seed>& seeds);

/// The seeds' regions, then where fusing gains most by estimate; without kernels alone.
std::vector<Interval> worth_trying(const SearchState& state);

}  // namespace fuseflow
