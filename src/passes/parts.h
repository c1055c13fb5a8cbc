// Partitions of a program's kernels into runs, and the programs that have them as their regions.
// Which partition is good is not decided here: mixture.h.
#pragma once

#include <vector>

#include "machine/machine.h"
#include "passes/choose.h"
#include "passes/placed_runs.h"
#include "passes/regroup.h"

namespace fuseflow {

/// A partition: runs of kernels in program order, each kernel in exactly one.
using Parts = std::vector<Part>;

/// Each of so many kernels by itself.
Parts each_alone(size_t kernels);

/// Groups of kernels in a row as parts; throws Error(internal) for other groups.
Parts parts_of(const Program& kernels, const std::vector<Group>& groups);

size_t statements_of(const Program& kernels, const Part& part);

/// The program with these parts as its regions, without the schedules of those that are several
/// kernels.
Program regrouped(const Program& kernels, const Parts& parts, PassLog& log);

/// What was found for a part by itself, for the region that it is in a whole program.
struct FoundSchedule {
  Schedule schedule;
  bool copies = false;  ///< it makes copies of tensors: of no use in other programs
  PassLog notes;
};

/// What was made of the run of a part.
FoundSchedule found_of(const RunAlone& run, PassLog notes);

/// The default of a part.
FoundSchedule default_of(const PlacedRun& placed);

/// Gives a region of a whole program what was found for its part alone, or where that cannot be,
/// its default placements.
void take_found(Candidate& made, size_t region, const Part& part, const FoundSchedule& found,
                const Machine& machine, const PlacedRuns& placed);

/// The program with these regions of streams, in this order, their intermediates placed by default;
/// phases take turns where the machine has no room for them together. Kernels alone stay as they
/// are.
Candidate assemble(const Program& kernels, const Parts& parts, const Machine& machine,
                   PlacedRuns& placed);

}  // namespace fuseflow
