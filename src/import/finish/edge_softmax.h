// Softmax by destination as one kernel.
#pragma once

#include "import/values/draft.h"

namespace fuseflow {

/// Joins maximum, difference, exponential, sum and quotient of values of edges into one group, as
/// those of Softmax are: what only they read is not stored. Of several heads, which are inside of
/// an edge, only difference, exponential and sum.
void join_edge_softmax(DraftProgram& draft);

}  // namespace fuseflow
