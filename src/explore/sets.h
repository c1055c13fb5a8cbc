// Points of a run of kernels that store whole sets of its intermediates, found by the search that
// the passes use (passes/store_search.h), by estimate alone: the same for every shard and journal.
#pragma once

#include <string>
#include <vector>

#include "estimate/pass_costs.h"
#include "explore/memo.h"
#include "explore/points.h"

namespace fuseflow {

/// What a set of placements is called: "%a %b=scratchpad, recompute".
std::string name_of_set(const Program& program, const std::vector<UsePlacement>& placements);

/// A point of the run that stores this set, found now or before. Its id is not set.
Point point_with_set(Interval run, const Machine& machine, StoredSet set);

/// At most `space.max_placements` points, the fewest estimated cycles first. None where nothing can
/// be moved. `learned`: of the kernels. Ids are not set.
std::vector<Point> stored_sets(const Program& kernels, const KernelRuns& runs, Interval run,
                               const Machine& machine, const SearchSpace& space,
                               const EstimatedCosts& learned);

}  // namespace fuseflow
