// Estimates are of given extents: a symbolic one (`dim N = ?`) would be counted as if it were a
// number.
#pragma once

#include "ir/program.h"

namespace fuseflow {

/// Throws Error(rejected) for a tensor with an extent that is not known, and says how to bind it.
inline void require_known_extents(const Program& program) {
  for (const Tensor& tensor : program.tensors) static_cast<void>(known_shape(tensor));
}

}  // namespace fuseflow
