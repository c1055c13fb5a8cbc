// Products with what selects: weights that say which elements are read, 0 for all others
// (Draft::selects). An element that is not read adds nothing, not even where it is infinite or NaN.
#pragma once

#include "import/values/draft.h"

namespace fuseflow {

/// Masks the products of the statement with tensors that select, where what they select from is not
/// known to be finite. What the statement reads is final.
void mask_selections(const Program& program, const DraftProgram& draft, Statement& statement);

}  // namespace fuseflow
