// A dense chain as it stands in a program: what its two products read, and the elementwise work
// between and after them, as terms over the chain's dimensions. Built by form_builder.cpp, lowered
// by lower_plan.cpp. Nothing of machines or plans.
#pragma once

#include <vector>

#include "cluster/common/terms.h"
#include "graph/cluster_shape.h"

namespace fuseflow::cluster {

/// The dimension of a chain among those of digits.
inline KernelDim digit_dim(Dim dim) {
  return dim == Dim::l ? kKernelL : static_cast<KernelDim>(index_of(dim));
}

struct ChainForm {
  std::vector<KernelDigit> digits;
  KernelTerm a, d, store;     ///< loads; of `store` what is written
  std::vector<KernelTerm> b;  ///< one a branch
  /// C from its products, E from its product; the root is last. A `reduce` is a product: of C that
  /// of the first branch, then that of the second.
  std::vector<KernelTerm> first, last;
  /// By term of `last`: a load of a tensor of E's size, no vector over L.
  std::vector<bool> of_size_e;
  TensorId c = -1;        ///< the tensor that the second product reads
  StoredTensors tensors;  ///< what is read and stored
  ElementBytes bytes;     ///< the same by what they are for
};

/// Product of the extents of a dimension's digits; -1 where it overflows.
int64_t chain_extent(const std::vector<KernelDigit>& digits, Dim dim);

}  // namespace fuseflow::cluster
