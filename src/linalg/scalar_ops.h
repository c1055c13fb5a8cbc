// What MLIR's operations on scalars are among our operators.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linalg/integer_ops.h"

namespace fuseflow {

/// `op` ("math.exp", "arith.cmpf ogt") of these operands; nothing if it has no meaning here.
std::optional<int32_t> scalar_op(Kernel& kernel, const std::string& op,
                                 const std::vector<int32_t>& x, const ScalarTypes& types);

/// Whether the operation gives its operand as another type, which makes no difference to a number
/// that both types have.
bool is_conversion(const std::string& op);

/// Whether a conversion leaves the order of its operands as it is: of signed integers to types that
/// hold them, and of floating-point numbers.
bool keeps_order(const std::string& conversion, ElementType from, ElementType to);

/// How two values become one.
struct Combination {
  Reduction reduction = Reduction::sum;
  bool of_unsigned = false;  ///< max, min: integers below 0 are larger than all others
  bool skips_nan = false;    ///< max, min: of NaN and a number it is the number
  bool operator==(const Combination&) const = default;
};

/// How `op` combines two values of the type, if it is a sum, product, maximum or minimum.
std::optional<Combination> combining(const std::string& op, ElementType type);

/// max or min where a comparison of a with b, of this type, selects a of them: "arith.cmpf ogt" is
/// max.
std::optional<Combination> selecting(const std::string& comparison, ElementType type);

/// Whether the comparison of a number with NaN holds.
bool holds_of_nan(const std::string& comparison);

/// Whether the comparison is of a larger (or as large) number with a smaller, and NaN counts as
/// larger: its selection against 0 is relu.
bool is_unordered_greater(const std::string& comparison);

}  // namespace fuseflow
