// Operations that move elements: reshapes, slices, insertions, concatenations, padding.
#pragma once

#include "linalg/structured.h"

namespace fuseflow {

View moved_result(LinalgValues& values, const LinalgOp& op, int group);

}  // namespace fuseflow
