// Estimates the open trials of a search. Which of them are then simulated is not known here.
#pragma once

#include <vector>

#include "explore/search_state.h"

namespace fuseflow {

/// The open trials of one run of kernels; of equal graphs only the first.
void estimate_run(SearchState& state, Interval run);

/// Those of a kernel alone. When the share of the time budget for estimates is over, only as many
/// as it takes to find one that is possible; the rest are left unvisited.
void estimate_kernel(SearchState& state, size_t kernel);

/// Those of several runs, in parallel.
void estimate_runs(SearchState& state, const std::vector<Interval>& runs);

/// All runs of several kernels, the seeds' first, then the short ones. When the share of the time
/// budget for it is over, only the seeds'; the rest are left unvisited.
void estimate_fused(SearchState& state);

}  // namespace fuseflow
