// Reductions that an expression uses several times, or that run over the same indices.
#pragma once

#include "import/values/view.h"

namespace fuseflow {

/// The value with indices of its own for each reduction of its expression, as statements need
/// them: what is shared is computed as often as it is used. Throws Error(rejected) where that makes
/// too much of it.
void give_own_indices(View& value);

}  // namespace fuseflow
