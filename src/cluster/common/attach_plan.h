// Puts what was planned for some statements of a program into it: one region, with the graph of
// tiles and the notes of the plan. Knows nothing of what was planned.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/program.h"

namespace fuseflow::cluster {

/// What a region says of its plan.
using PlanNotes = std::vector<std::pair<std::string, std::string>>;

/// Regions with a schedule are left to streams.
bool has_schedule(const Region& region);

/// The regions that compute one of these tensors, ascending.
std::vector<size_t> regions_of(const Program& program, const std::vector<TensorId>& results);

/// Puts the statements of these tensors into one region, in the place of the last one's, with
/// `notes` and `graph` on it. False, and nothing changed, when one of their regions is lowered, has
/// a schedule, or computes other things too. `replace`: graphs of tiles go.
bool attach_plan(Program& program, const std::vector<TensorId>& results, const PlanNotes& notes,
                 Graph graph, bool replace = false);

}  // namespace fuseflow::cluster
