// What the values of a constant are like: facts for the fill calculus, and the fill that makes it
// sparse. Large weights are read once for all of it.
#pragma once

#include <optional>
#include <vector>

#include "import/values/constant_tensor.h"
#include "ops/op.h"

namespace fuseflow {

/// Reads the stored values (of a sparse tensor its entries) at the first call, and remembers what
/// it found.
const Survey& constant_stats(const ConstantTensor& tensor);

/// Facts that hold for every element (no elements: every fact).
Facts facts_of(const ConstantTensor& tensor);

/// least_fiber_maximum() of a storage (tensor/survey.h), for a constant tensor.
std::optional<float> least_fiber_maximum(const ConstantTensor& tensor,
                                         const std::vector<bool>& along);

/// The share of elements other than `fill`; 1 if there are none. Entries of a sparse tensor count
/// whatever they are, and all elements beside another fill than theirs.
double density_of(const ConstantTensor& tensor, float fill);

/// How a program uses a constant as a mask.
struct MaskUse {
  std::optional<float> closed;  ///< the value at which a `where` takes its constant branch
  bool added = false;           ///< to scores
  bool subtracted = false;
  bool read_outside = false;  ///< some access reads beyond its extents, where it has to read 0
};

/// What absent entries of a constant should mean. What masks comes first, if the density is at most
/// `threshold`, since only it carries sparsity on: the value that a `where` closes at, and -inf or
/// a large negative number where it is added (a large positive one where it is subtracted). Such a
/// number of a constant that is used otherwise has to leave fewer entries than 0 does. Else 0, or
/// for booleans what most elements are. Always 0 for what is read outside: that reads the fill.
struct FillChoice {
  float fill = 0;
  double density = 1;
  int64_t present = 0;
  bool mask = false;  ///< the fill is what masks
};
FillChoice choose_fill(const ConstantTensor& tensor, const MaskUse& use, double threshold);

}  // namespace fuseflow
