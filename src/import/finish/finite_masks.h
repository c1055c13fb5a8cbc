// Masks with a large finite constant (-1e4, -1e9, the least float) in front of a softmax mean -inf:
// masked entries underflow to 0 if the row's maximum exceeds them by 104 or more. (Where the
// constant is added, a masked entry is the constant and its score.) Where the mask's values show
// that every row has an open entry, the constant becomes -inf, so that the softmax is sparse, and a
// statement with an assumed fact makes `--check` test the margin.
#pragma once

#include <vector>

#include "import/values/draft.h"

namespace fuseflow {

struct FiniteMasks {
  std::vector<FiniteMask> masks;
  std::vector<TensorId> data;  ///< what was looked at: other data may have other masks
};

/// The masks between `scores` and what they are computed from, nearest first: where(mask, x, C),
/// where(mask, C, x), x + bias or x - bias with a bias of large numbers, one after the other or
/// with scaling and finite terms between. Each must be read by the next alone.
FiniteMasks finite_masks_before(const DraftProgram& draft, TensorId scores);

/// What a row's maximum is at least where masked entries are 0: `constant` + `distance`. To an
/// added constant C comes what else is added there. That is taken to be at most half of -C: so both
/// it and the maximum have to keep away from C/2. Numbers of the model that lower all scores lower
/// both, if f32 has room for them.
struct LeastMaximum {
  float constant, distance;
  bool met_by(float maximum) const { return maximum - constant - distance >= 0; }
};

/// For all of the masks (at least one) in front of one softmax.
LeastMaximum least_maximum(const std::vector<FiniteMask>& masks);

/// Whether a tensor is a finite mask's value, or stands between one and its softmax.
bool leads_from_mask(const DraftProgram& draft, TensorId tensor);

/// Whether a statement adds to, scales or selects from masked scores of which every row has a
/// finite entry, on their way to the softmax: it is finite there if its other operands are.
bool carries_finite_rows(const DraftProgram& draft, const Statement& s);

/// Tries to widen statement number `s`, whose operands are final, if it is in
/// `draft.finite_masks`. If true, tensors were added at the end and a statement after the row's
/// maximum. Rows that the masks close entirely keep their numbers (closed_rows.h).
bool widen_finite_mask(DraftProgram& draft, size_t s);

}  // namespace fuseflow
