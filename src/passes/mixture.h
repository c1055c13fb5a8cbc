// Which kernels in a row are computed together, by expected cycles: the partition of a program's
// kernels into regions of the least total. Each region is judged by itself, so that one part of a
// program is fused where that pays and another is not.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "machine/machine.h"
#include "passes/choose.h"
#include "passes/effort.h"
#include "passes/placed_runs.h"
#include "passes/regroup.h"
#include "search/whole_kernels.h"

namespace fuseflow {

/// Groups of kernels in a row as parts; throws Error(internal) for other groups.
std::vector<Part> parts_of(const Program& kernels, const std::vector<Group>& groups);

/// The program with these regions of streams, in this order, their intermediates placed by default;
/// phases take turns where the machine has no room for them together. Kernels alone stay as they
/// are.
Candidate assemble(const Program& kernels, const std::vector<Part>& parts, const Machine& machine,
                   PlacedRuns& placed);

/// What regions may be beside streams with one copy of each loop.
struct MixtureSpace {
  std::vector<PlannedPart> planned;  ///< runs of kernels that may run on cores
  int64_t max_copies = 1;            ///< of a loop, where the machine has a number of units
};

/// What a program must come near to be searched.
struct SearchReach {
  double cycles = std::numeric_limits<double>::infinity();  ///< of the fastest program so far
  double gained = 0;  ///< the most by a search of streams: cycles before it for each one after it

  bool has(double before) const {
    const double most = gained > 0 ? kMoreGain * gained : kOutOfReach;
    return before <= most * cycles;
  }
};

/// Partitions of a program as programs.
struct Mixtures {
  std::vector<Candidate> found;
  std::vector<Candidate> copied;  ///< others, not searched but for copies of their loops
  std::vector<Candidate> alone;   ///< kernels by themselves, where an estimate may mistake
};

/// The best partitions into the suggested parts, runs of few kernels, and what becomes of these
/// when neighbours are joined: by default placements; and with the placements and orders that are
/// searched for each region (store_search.h). Which partition is best may depend on these, so they
/// are searched for a first one, and for every partition that takes hardly more than the best one,
/// until none is left: from the first of `suggested` as if there were no cores, then from the best
/// one with them, and where loops may have copies from the kernels by themselves. `costs` has
/// learned `kernels`. Its effort is bounded. Kernels that have graphs of tiles stay as they are.
/// None where nothing is in reach; a search of streams says in `reach` what it gained.
Mixtures best_mixtures(const Program& kernels, const std::vector<std::vector<Part>>& suggested,
                       const MixtureSpace& space, const Machine& machine, CostModel& costs,
                       PlacedRuns& placed, SearchReach& reach);

}  // namespace fuseflow
