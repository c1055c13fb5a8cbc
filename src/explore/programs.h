// Programs made of the points of a search: what their regions take together, and the points that a
// seed is made of. Simulates nothing.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "explore/points.h"
#include "explore/trial_table.h"

namespace fuseflow {

/// What a trial costs in the search's objective; kNoCost: it may not be taken.
using TrialCost = std::function<double(const Trial&)>;

/// Positions of trials that are the regions of a program, in its order.
using TrialList = std::vector<size_t>;

/// The trial of each part of a seed that costs the least: of streams among those of
/// all seeds, of tiles among its own. Nothing where a part has none.
std::optional<TrialList> trials_of(const TrialTable& table, const Seed& seed,
                                   const TrialCost& cost);

/// What the regions take together, with the pauses between them. A region by itself pays for the
/// copies of inputs that it reads; the program pays once for each. `amounts`: of one region.
Amounts amounts_together(const TrialTable& table, const TrialList& regions,
                         const std::function<Amounts(const Trial&)>& amounts);

/// Whether several of the regions read one copy of an input.
bool share_copies(const TrialTable& table, const TrialList& regions);

}  // namespace fuseflow
