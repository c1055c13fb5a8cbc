// One statement as a kernel: its expression over the dimensions of tiles, and the graph for given
// tile sizes. Nothing of machines.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cluster/kernel_terms.h"

namespace fuseflow::cluster {

struct KernelForm : KernelTerms {
  TensorId result = -1;
  std::vector<TileSubscript> stored;  ///< where an element of the result is
  bool product = false;               ///< the reduction is a product of matrices
};

/// The form of a statement, with the statements of `folded` (by their results) inside; nothing,
/// and the reason in `why`, where it has none.
std::optional<KernelForm> kernel_form(const Program& program, const Statement& statement,
                                      const std::map<TensorId, const Statement*>& folded,
                                      std::string& why);

/// Elements along each dimension.
inline KernelSizes sizes_of(const KernelForm& form) {
  return sizes_of(form.digits);
}

/// The graph with tiles of `block` elements (1 along g), `copies` of each load.
Graph kernel_graph(const KernelForm& form, const KernelSizes& block, int64_t copies);

}  // namespace fuseflow::cluster
