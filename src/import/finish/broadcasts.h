// What is computed once, and read by many. A model that repeats keys for the queries of a group,
// and then scales them, makes every copy the same. Such an intermediate loses the dimensions along
// which it does not differ.
#pragma once

#include "import/values/draft.h"

namespace fuseflow {

/// Needs accesses as they will be: after dimensions were cut.
void drop_broadcasts(DraftProgram& draft);

}  // namespace fuseflow
