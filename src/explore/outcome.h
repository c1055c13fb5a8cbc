// What a search over one program has found: totals of the seeds, the unfused program, the front and
// the best program. Tries nothing more.
#pragma once

#include <string>
#include <vector>

#include "explore/search_result.h"
#include "explore/search_state.h"

namespace fuseflow {

/// Fills all of the result but trials, notes and `unfinished`; marks the best trials in the table.
void set_outcome(SearchState& state, SearchResult& result);

/// Names of the seeds of which a region was left out.
std::vector<std::string> unfinished_seeds(const SearchState& state);

}  // namespace fuseflow
