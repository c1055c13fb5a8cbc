// Classes of operators that rules are stated for. What one operator does is not here (op.h).
#pragma once

#include "ops/op.h"

namespace fuseflow {

/// Whose result is 0 or 1 whatever the operands, NaN included: comparisons and logic.
bool is_boolean(Op op);

/// a op b = b op a, but for the payloads of NaNs.
bool is_commutative(Op op);

}  // namespace fuseflow
