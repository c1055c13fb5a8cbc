// Evaluates index expressions over constants at import: folding of shapes and weights. The same
// expressions become statements when an operand is not constant, so operators exist once.
#pragma once

#include <functional>

#include "import/values/constant_tensor.h"
#include "import/values/view.h"

namespace fuseflow {

/// The values of a tensor, or null when it is not a constant.
using ConstantLookup = std::function<const ConstantTensor*(TensorId)>;

/// Elements x reduction steps x nodes that evaluation would take, saturated; a row of the innermost
/// dimension counts 32 elements more, so that tiny rows are not taken for cheap.
int64_t evaluation_steps(const View& value);

/// Every access must be to a constant. Integer and boolean expressions are evaluated in i64, others
/// in f32 rounding each operation. Subscripts out of range read 0.
ConstantPtr evaluate_value(const View& value, const ConstantLookup& constants);

/// The same of what the program computes: null where the values are not defined, as of an integer
/// divided by 0. Who only looks at them has no reason to refuse the model.
ConstantPtr evaluate_if_defined(const View& value, const ConstantLookup& constants);

}  // namespace fuseflow
