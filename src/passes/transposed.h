// Sparse tensors stored in another order of their dimensions, for regions of many kernels: a
// product by columns may let kernels stream into each other that a product by rows does not. Judged
// with the regions, since no kernel by itself gains by it (storage_choice.h judges regions as they
// are).
#pragma once

#include <optional>
#include <vector>

#include "passes/parts.h"

namespace fuseflow {

/// The kernels with those orders, in all regions that read the tensors, with which the regions
/// `parts`, placed by default, are expected to take at least a tenth fewer cycles, what the machine
/// takes to convert inputs included, than as given, and no more than `least_elsewhere`, what a
/// search for the given orders has found: a search for these will hardly make up for more. Nothing
/// where there are none, or `costs` knows none. Its effort is bounded.
std::optional<Program> transposed_for(const Program& kernels, const Parts& parts,
                                      const Machine& machine, double least_elsewhere,
                                      CostModel& costs, PassLog& log);

}  // namespace fuseflow
