// What the values of a constant are like: facts for the fill calculus, and the fill that makes it
// sparse. Large weights are read once for all of it.
#pragma once

#include <optional>

#include "import/values/constant_tensor.h"
#include "ops/op.h"

namespace fuseflow {

/// Reads the stored values (of a sparse tensor its entries) at the first call, and remembers what
/// it found.
const Survey& constant_stats(const ConstantTensor& tensor);

/// Facts that hold for every element (no elements: every fact).
Facts facts_of(const ConstantTensor& tensor);

/// What absent entries of a constant should mean. `wanted` (the value that masks) and -inf or a
/// large negative number (an additive mask) come first, if the density is at most `threshold`: only
/// they carry sparsity on. Else 0, or for booleans what most elements are.
struct FillChoice {
  float fill = 0;
  double density = 1;
  int64_t present = 0;
  bool mask = false;  ///< the fill is what masks
};
FillChoice choose_fill(const ConstantTensor& tensor, std::optional<float> wanted, double threshold);

}  // namespace fuseflow
