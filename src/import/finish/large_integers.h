// Whole numbers of 32 and 64 bits are computed in f32, which has all of them up to 2^24 alone.
#pragma once

#include "import/values/draft.h"

namespace fuseflow {

/// Warns of each node whose results, by the ranges of what it reads, may be integers that f32 does
/// not have. (Of integers of 8 and 16 bits define_computed() refuses them.)
void warn_of_large_integers(const Program& program, const DraftProgram& draft);

}  // namespace fuseflow
