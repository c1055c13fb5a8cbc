// Which nodes of a statement have the same value, so that what holds of a square is known of it
// (ops/sign.h).
#pragma once

#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// A number for each node: equal numbers, equal values wherever both are evaluated. Names of the
/// indices of reductions do not matter; the order of operands does. Empty where no operator of the
/// statement could use it, or where there are more than 512 nodes.
std::vector<int> value_numbers(const Statement& statement);

}  // namespace fuseflow
