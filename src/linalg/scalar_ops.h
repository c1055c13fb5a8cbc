// What MLIR's operations on scalars are among our operators.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "import/values/kernel.h"

namespace fuseflow {

/// `op` ("math.exp", "arith.cmpf ogt") of these operands; nothing if it has no meaning here.
/// `integral`: the result is an integer.
std::optional<int32_t> scalar_op(Kernel& kernel, const std::string& op,
                                 const std::vector<int32_t>& x, bool integral);

/// Whether the operation gives its operand as it is: everything is computed in f32.
bool is_conversion(const std::string& op);

/// max, min, sum or prod where `op` combines two values so. `integral`: they are integers, not
/// truth values.
std::optional<Reduction> combining(const std::string& op, bool integral);

/// max or min where a comparison of a with b selects a of them: "arith.cmpf ogt" is max.
std::optional<Reduction> selecting(const std::string& comparison);

/// Whether the comparison is of a larger (or as large) number with a smaller, and NaN counts as
/// larger: its selection against 0 is relu.
bool is_unordered_greater(const std::string& comparison);

}  // namespace fuseflow
