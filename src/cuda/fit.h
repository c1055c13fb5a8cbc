// Fits a kernel to the chip (chip/fit.h): how many threads multiply, how matrices lie in the
// scratchpad, where everything is in it.
#pragma once

#include "chip/fit.h"
#include "cuda/kernel.h"

namespace fuseflow::cuda {

/// What the objects of a kernel need of a core.
chip::Needs needs_of(const Kernel& kernel);

/// Chooses what kernel.h leaves open, and says in `repairs` what differs from the plan. Throws
/// Refused where sums do not fit the registers, or the matrices the scratchpad.
void fit(Kernel& kernel, const chip::Chip& chip = {});

}  // namespace fuseflow::cuda
