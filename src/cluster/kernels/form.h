// One statement as a kernel: its expression over the dimensions of tiles, and the graph for given
// tile sizes. Nothing of machines.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "cluster/common/terms.h"

namespace fuseflow::cluster {

class PresentElements;

struct KernelForm : KernelTerms {
  TensorId result = -1;
  std::vector<TileSubscript> stored;  ///< where an element of the result is
  bool product = false;               ///< the (first) reduction is a product of matrices
  /// The term of a product after it (second_product_form.h); -1: none.
  int32_t second_product = -1;
  /// Where the product's first operand, the tensor `sparse`, holds values. Null: everywhere.
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

/// The term a * b that the (first) sum of a form with a product is over, and its operands 0 and 1.
int32_t product_of(const KernelForm& form);
const KernelTerm& operand_of(const KernelForm& form, size_t number);
/// The load W of a form with a second product.
const KernelTerm& weights_of_second(const KernelForm& form);

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

/// The graph with tiles of `block` elements (1 along g; all of n where there is a second product),
/// `copies` of each load. Tiles of the first operand without a value are left out. `gathered`: of a
/// product with blocks of one k, how many a step packs (graph/tile_kernel.h); 0: none. `parts`: of
/// a product by itself.
Graph kernel_graph(const KernelForm& form, const KernelSizes& block, int64_t copies,
                   int64_t gathered = 0, const DepthParts& parts = {});

/// Do sums alone follow the product, each of which takes it once? Then clusters may add to the
/// result in memory.
bool sums_follow(const KernelForm& form);

}  // namespace fuseflow::cluster
