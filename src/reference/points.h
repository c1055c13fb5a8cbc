// Evaluation point by point, for results that are too large to spell out: only the coordinates at
// which some sparse operand has an entry are visited.
#pragma once

#include <memory>
#include <vector>

#include "reference/reference.h"

namespace fuseflow::reference {

/// The result of an elementwise statement as a sparse storage. Throws Error(rejected) where the
/// statement reduces, or no sparse operands cover the result.
std::shared_ptr<const Storage> evaluate_points(const Program& program, const Statement& statement,
                                               const std::vector<Value>& values);

}  // namespace fuseflow::reference
