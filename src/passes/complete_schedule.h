// Completes the schedule of a region as lowering would, before a pass works on it: what is asked of
// the region is then asked of what will run.
#pragma once

#include "passes/pass.h"

namespace fuseflow {

/// Where a region cannot be lowered as its schedule stands (orders that its tensors ask for clash,
/// say), stores intermediates or reads copies as lowering would (lower/lower.h,
/// complete_and_lower), with a note each. A region that can be lowered stays as it is. Throws
/// Error(rejected), with the region's place, if nothing makes it possible.
void complete_schedule(Program& program, size_t region, PassLog& log);

}  // namespace fuseflow
