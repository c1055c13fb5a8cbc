// Fits a kernel to the chip (chip/fit.h) by what its graph needs (chip/needs.h): how many threads
// multiply, how matrices lie in the scratchpad, where everything is in it.
#pragma once

#include "chip/fit.h"
#include "cuda/kernel.h"

namespace fuseflow::cuda {

/// Chooses what kernel.h leaves open, and says in `repairs` what differs from the plan. Throws
/// Refused where sums do not fit the registers, or the matrices the scratchpad.
void fit(Kernel& kernel, const chip::Chip& chip = {});

}  // namespace fuseflow::cuda
