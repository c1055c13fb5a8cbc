// The groupings of kernels that a search starts from and must not be worse than: the strategies of
// fuseflow-fuse, and programs that the user gives.
#pragma once

#include <string>
#include <vector>

#include "explore/points.h"
#include "explore/search_options.h"

namespace fuseflow {

/// Seeds as runs of kernels, of which points are made, and as whole programs.
struct Seeds {
  std::vector<Seed> runs;
  std::vector<WholeSeed> wholes;
  std::vector<std::string> notes;  ///< which seed there is not, and why
};

/// `none`, `layer` and `full` for these kernels; nothing of a program without any.
Seeds strategy_seeds(const Program& kernels);

/// Adds `auto`, what fuse makes of the program as it was given, on the machine and within the
/// search's space: as a whole, and where its regions are runs of kernels as runs; not where that is
/// a point anyway.
void add_automatic(const Program& kernels, const Machine& machine, const SearchOptions& options,
                   const KeptProgram& kept, Seeds& seeds);

/// The regions of `program`, which are made of the same kernels; schedules are taken over where
/// they only name tensors of `kernels`, graphs for cores as they are. Throws Error(rejected) for
/// another program, and for a region that is not a run of consecutive kernels.
Seed given_seed(const Program& kernels, const Program& program, const std::string& name);

/// The seeds that the user gives: those whose regions are runs of kernels.
std::vector<Seed> given_runs(const Program& kernels, const std::vector<WholeSeed>& seeds);

/// The regions of `program` that are planned for cores and are runs of whole kernels; all other
/// kernels are regions of their own, also those of which a part is a statement that they have not.
/// Without parts if there is no such region.
Seed planned_seed(const Program& kernels, Program program, const std::string& name);

}  // namespace fuseflow
