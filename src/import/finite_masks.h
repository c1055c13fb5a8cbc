// Masks with a large finite constant (-1e4, -1e9, the least float) in front of a softmax mean -inf:
// masked entries underflow to 0 if the row's maximum exceeds the constant by 104 or more. Where the
// mask's values show that every row has an open entry, the constant becomes -inf, so that the
// softmax is sparse, and a statement with an assumed fact makes `--check` test the margin.
#pragma once

#include "import/draft.h"

namespace fuseflow {

/// Tries it for statement number `s`, whose operands are settled. If true, a tensor was added at
/// the end and a statement behind the row's maximum.
bool widen_finite_mask(DraftProgram& draft, size_t s);

}  // namespace fuseflow
