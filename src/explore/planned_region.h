// A run of kernels as a graph for cores, taken from a program of the same kernels in which it is
// planned, and put into a program of the search. Knows nothing of points, seeds or costs.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "explore/interval.h"
#include "ir/program.h"

namespace fuseflow {

struct PlannedRegion {
  Graph graph;
  std::vector<std::pair<std::string, std::string>> plan;
  /// What the graph reads dense and the kernels read compressed: inputs and constants, which have a
  /// source for a dense copy, too.
  std::vector<TensorId> read_dense;
};

/// `region` of `program`, which is all of the kernels of `run`. Throws Error(rejected) if it is a
/// part of a kernel, or if its graph needs a computed tensor to be stored otherwise than the
/// kernels have it.
std::shared_ptr<const PlannedRegion> planned_region(const Program& kernels, const Program& program,
                                                    const Region& region, Interval run);

/// The program with that graph on its region, and with the dense copies that the graph reads.
Program put_planned(Program program, size_t region, const PlannedRegion& planned);

}  // namespace fuseflow
