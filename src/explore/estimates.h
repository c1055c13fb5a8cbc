// Estimates the open trials of a search. Which of them are then simulated is not known here.
#pragma once

#include <vector>

#include "explore/search_state.h"

namespace fuseflow {

// The open trials of runs of kernels; of equal graphs only the first. What time does not suffice
// for is left unvisited.

/// Those of a kernel alone. When the share of the time budget for estimates is over, only as many
/// as it takes to find one that is possible.
void estimate_kernel(SearchState& state, size_t kernel);

/// Those of several runs, in parallel. When the time budget is over, only what seeds are.
void estimate_runs(SearchState& state, const std::vector<Interval>& runs);

/// All runs of several kernels, the seeds' first, then the short ones. When the share of the time
/// budget for it is over, only the seeds' runs, and after all of it only what seeds are.
void estimate_fused(SearchState& state);

}  // namespace fuseflow
