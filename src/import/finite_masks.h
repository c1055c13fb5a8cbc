// Masks with a large finite constant (-1e4, -1e9, the least float) in front of a softmax mean -inf:
// masked entries underflow to 0 if the row's maximum exceeds the constant by 104 or more. Where the
// mask's values show that every row has an open entry, the constant becomes -inf, so that the
// softmax is sparse, and a statement with an assumed fact makes `--check` test the margin.
#pragma once

#include "import/draft.h"

namespace fuseflow {

/// A statement whose value is a large negative number where the mask is closed.
struct FiniteMask {
  float masked = 0;
  MaskCondition open;
};

/// where(mask, x, C) or where(mask, C, x), or x + bias or x - bias with a bias of large numbers.
std::optional<FiniteMask> finite_mask(const DraftProgram& draft, const Statement& s);

/// Tries to widen it for statement number `s`, whose operands are settled. If true, tensors were
/// added at the end and a statement behind the row's maximum. Rows that the mask closes entirely
/// keep its numbers (closed_rows.h).
bool widen_finite_mask(DraftProgram& draft, size_t s);

}  // namespace fuseflow
