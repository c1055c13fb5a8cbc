// Maxima and minima that a scatter starts from a number which no update can lose to.
#pragma once

#include "import/values/draft.h"

namespace fuseflow {

/// PyTorch's scatter_reduce(include_self=False) is exported as a scatter of the least number (of a
/// constant, or the least of all updates) to the elements that have updates, then the maximum. Of a
/// row with updates that start changes nothing: it is left out, or kept by row where some rows have
/// none.
void simplify_starts(DraftProgram& draft);

}  // namespace fuseflow
