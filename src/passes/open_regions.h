// The regions of a program that a pass may choose for by estimate: those with statements and
// without a graph.
#pragma once

#include <utility>

#include "passes/cost_model.h"

namespace fuseflow {

/// Calls `search(program, region, found)` for each such region where `find(program, region)` found
/// any places for choices. The model learns the program before the first; a program that it cannot
/// learn stays as it is.
template <typename Find, typename Search>
Program search_open_regions(Program program, CostModel& costs, Find find, Search search) {
  bool learned = false;
  for (size_t r = 0; r < program.regions.size(); ++r) {
    if (program.regions[r].graph || program.regions[r].statements.empty()) continue;
    const auto found = find(program, r);
    if (found.empty()) continue;
    if (!learned && !costs.learn(program)) return program;
    learned = true;
    search(program, r, found);
  }
  return program;
}

}  // namespace fuseflow
