// Results of integers of few bits, to which computing in f32 does not keep by itself.
#pragma once

#include <vector>

#include "import/importer.h"
#include "import/values/integers.h"

namespace fuseflow {

/// The lowest bits of a whole number. `folds`: it is constant, and so computed in integers. Else in
/// f32, which stays exact as long as the value is: factors are powers of two, and the difference
/// has no more digits than the value.
int32_t lowest_bits(Kernel& k, int32_t value, const Integers& to, bool folds);

/// Defines output 0 of the node, the result of arithmetic, as Kernel::result() makes it. Of a type
/// of 8 or 16 bits it has the lowest bits, as in ONNX, where it may have more. Rejects the node
/// where it may have more than f32 holds.
void define_computed(NodeImport& node, Kernel& k, const std::vector<int>& labels, int32_t root,
                     ElementType type);

}  // namespace fuseflow
