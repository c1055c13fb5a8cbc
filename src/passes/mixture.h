// Which kernels in a row are computed together, by expected cycles: the partition of a program's
// kernels into regions of the least total. Each region is judged by itself, so that one part of a
// program is fused where that pays and another is not.
#pragma once

#include <limits>
#include <vector>

#include "machine/machine.h"
#include "passes/choose.h"
#include "passes/effort.h"
#include "passes/judged_runs.h"
#include "passes/parts.h"
#include "passes/placed_runs.h"

namespace fuseflow {

/// What a program must come near to be searched.
struct SearchReach {
  double cycles = std::numeric_limits<double>::infinity();  ///< of the fastest program so far
  double gained = 0;  ///< the most by a search of streams: cycles before it for each one after it

  bool has(double before) const {
    const double most = gained > 0 ? kMoreGain * gained : kOutOfReach;
    return before <= most * cycles;
  }
};

/// Partitions of a program as programs. Which list has the best one may depend on what else is kept
/// on chip.
struct Mixtures {
  std::vector<Candidate> found;
  std::vector<Candidate> copied;  ///< others, not searched but for copies of their loops
  std::vector<Candidate> alone;   ///< kernels by themselves, where an estimate may mistake

  void add(Mixtures others);
};

/// The best partitions into the suggested parts, runs of few kernels, and what becomes of these
/// when neighbours are joined: by default placements; and with the placements and orders that are
/// searched for each region (store_search.h). Which partition is best may depend on these, so they
/// are searched for a first one, and for every partition that takes hardly more than the best one,
/// until none is left: from the first of `suggested` as if there were no cores, then from the best
/// one with them, and where loops may have copies from the kernels by themselves. `costs` has
/// learned `kernels`. Its effort is bounded. Kernels that have graphs of tiles stay as they are.
/// None where nothing is in reach; a search of streams says in `reach` what it gained.
Mixtures best_mixtures(const Program& kernels, const std::vector<Parts>& suggested,
                       const MixtureSpace& space, const Machine& machine, CostModel& costs,
                       PlacedRuns& placed, SearchReach& reach);

}  // namespace fuseflow
