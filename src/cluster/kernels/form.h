// One statement as a kernel: its expression over the dimensions of tiles, and the graph for given
// tile sizes. Nothing of machines.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "cluster/kernels/terms.h"

namespace fuseflow::cluster {

class PresentElements;

struct KernelForm : KernelTerms {
  TensorId result = -1;
  std::vector<TileSubscript> stored;  ///< where an element of the result is
  bool product = false;               ///< the (first) reduction is a product of matrices
  int32_t behind = -1;                ///< the term of a product behind it (behind_form.h); -1: none
  /// Of the product's first operand, the tensor `sparse`: where it holds values. Null: everywhere.
  std::shared_ptr<const PresentElements> present;
  TensorId sparse = -1;
  /// How that operand is stored where its rows are gathered; nothing: they cannot be.
  std::optional<Format> gathered = std::nullopt;
};

/// The form of a statement, with the statements of `folded` (by their results) inside; nothing,
/// and the reason in `why`, where it has none. The tensors of `as_dense` are loaded as
/// if they were stored dense.
std::optional<KernelForm> kernel_form(const Program& program, const Statement& statement,
                                      const std::map<TensorId, const Statement*>& folded,
                                      std::string& why, const std::set<TensorId>& as_dense = {});

/// Of a form with a product: the term a * b that its (first) sum is over, and its operands 0 and 1.
int32_t product_of(const KernelForm& form);
const KernelTerm& operand_of(const KernelForm& form, size_t number);
/// Of a form with a product behind it: the load W.
const KernelTerm& weights_behind(const KernelForm& form);

/// Who has a part of k each.
struct DepthParts {
  int cores = 1;         ///< of a cluster, which sum what they give over links
  int64_t clusters = 1;  ///< that add to the result in memory
  int64_t all() const { return cores * clusters; }
};

/// Elements along each dimension.
inline KernelSizes sizes_of(const KernelForm& form) {
  return sizes_of(form.digits);
}

/// The graph with tiles of `block` elements (1 along g; all of n where a product is behind),
/// `copies` of each load. Tiles of the first operand without a value are left out. `gathered`: of a
/// product with blocks of one k, how many a step packs (graph/tile_kernel.h); 0: none. `parts`: of
/// a product with nothing behind it.
Graph kernel_graph(const KernelForm& form, const KernelSizes& block, int64_t copies,
                   int64_t gathered = 0, const DepthParts& parts = {});

/// Do sums alone follow the product, each of which takes it once? Then clusters may add to the
/// result in memory.
bool sums_follow(const KernelForm& form);

}  // namespace fuseflow::cluster
