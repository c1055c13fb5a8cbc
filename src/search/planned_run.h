// A run of kernels as graphs for cores, one or several after each other, taken from a program of
// the same kernels in which they are planned, and put into a program of the search. Knows nothing
// of points, seeds or costs.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/program.h"
#include "ir/slice.h"
#include "search/interval.h"

namespace fuseflow {

struct PlannedRegion {
  std::string name;
  std::vector<TensorId> results;  ///< of its statements
  Graph graph;
  std::vector<std::pair<std::string, std::string>> plan;
  /// What the graph reads dense and the kernels store otherwise, and how: inputs and constants,
  /// which have a source for a copy, too.
  std::vector<std::pair<TensorId, Format>> copies;
  /// What the graph writes dense and the kernels declare otherwise; no other region reads it.
  std::vector<TensorId> dense;
};

/// At least one; in the order in which they run.
using PlannedRun = std::vector<PlannedRegion>;

/// These regions of `program`, which are all of the kernels of `run`: a kernel of several
/// statements may be several of them. Throws Error(rejected) if a part of a kernel lacks, if one of
/// them is not planned, or if a graph needs a computed tensor to be stored otherwise than the
/// kernels have it.
std::shared_ptr<const PlannedRun> planned_run(const Program& kernels, const Program& program,
                                              const std::vector<size_t>& regions, Interval run);

/// The same by the tensors of a slice that has all kernels of the run.
PlannedRun in_slice(PlannedRun planned, const RegionSlice& slice);

/// The program with the planned regions in place of the one that has all of their statements, and
/// with the dense copies that they read.
Program put_planned(Program program, size_t region, const PlannedRun& planned);

}  // namespace fuseflow
