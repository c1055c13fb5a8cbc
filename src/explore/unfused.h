// Runs the unfused program, whose results every region of a search reads.
#pragma once

#include "explore/search_state.h"

namespace fuseflow {

/// Each kernel with its best order by estimate, on the search's machine, one after another; where
/// that machine cannot, on one without limits. Throws Error(unfinished) if a kernel does not end.
void run_unfused(SearchState& state);

}  // namespace fuseflow
