// Which kernels in a row are computed together, by expected cycles: the partition of a program's
// kernels into regions of the least total. Each region is judged by itself, so that one part of a
// program is fused where that pays and another is not.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.h"
#include "passes/choose.h"
#include "passes/regroup.h"

namespace fuseflow {

/// Kernels [first, last] of a program (positions of its regions) that become one region.
struct Part {
  size_t first = 0;
  size_t last = 0;
  std::string name;            ///< empty: that of the last kernel
  double max_recompute = 1.5;  ///< PlacementOptions::max_recompute; means nothing for one kernel
  bool is_kernel() const { return first == last; }
  bool operator==(const Part&) const = default;
};

/// Groups of kernels in a row as parts; throws Error(internal) for other groups.
std::vector<Part> parts_of(const Program& kernels, const std::vector<Group>& groups);

/// The program with these regions, in this order, their intermediates placed; phases take turns
/// where the machine has no room for them together. Kernels alone stay as they are.
/// `costs`: judges other sets of what is stored in each region of several kernels (store_search.h);
/// null: the placements stay the default ones.
Candidate assemble(const Program& kernels, const std::vector<Part>& parts, const Machine& machine,
                   CostModel* costs = nullptr);

/// The best partition into the given parts, runs of few kernels, and what becomes of these when
/// neighbours are joined; and after it the best of other runs, where that takes hardly more: what
/// is stored is not chosen yet, and may decide between them. `costs` has learned `kernels`. Its
/// effort is bounded.
std::vector<std::vector<Part>> best_parts(const Program& kernels,
                                          const std::vector<Part>& suggested,
                                          const Machine& machine, CostModel& costs);

}  // namespace fuseflow
