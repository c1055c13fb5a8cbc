// The search over a program and over what algebra makes of it (passes/rewrite.h). Both are judged
// by simulated cycles, so the better of the two is simply the one that takes fewer.
#pragma once

#include "explore/search.h"

namespace fuseflow {

/// Searches `kernels` and, if rewriting by estimated cost changes it, the rewritten program, each
/// in half of the budget. Gives the search that found the better program, the given one's where
/// both are equal, with a note of the other's; `kernels` becomes the program that was searched.
/// Seeds of the options are of the given kernels alone.
SearchResult search_rewritten(Program& kernels, const Machine& machine,
                              const SearchOptions& options, bool allow_reassociation);

}  // namespace fuseflow
