// Which statements of a region are one kernel: elementwise statements go to the one that reads
// each of their elements once.
#pragma once

#include <map>
#include <vector>

#include "ir/program.h"

namespace fuseflow::cluster {

/// The last of the statements of a kernel, and all of them in the region's order, the root last.
struct KernelGroup {
  const Statement* root = nullptr;
  std::vector<const Statement*> members;
};

/// Groups in the order of their roots. `fold_products`: a product or a reduction of rows is one
/// with the elementwise statements that alone read it, where that has the form of a kernel.
std::vector<KernelGroup> kernel_groups(const Program& program, size_t region, bool fold_products);

/// The members but for the root, by their results.
std::map<TensorId, const Statement*> folded_into(const KernelGroup& group);

}  // namespace fuseflow::cluster
