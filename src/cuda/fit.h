// Fits a kernel to the chip: how many threads multiply, how matrices lie in the scratchpad, where
// everything is in it.
#pragma once

#include "cuda/kernel.h"

namespace fuseflow::cuda {

/// What a core of the chip has. Bytes.
struct Chip {
  int64_t scratchpad = 232448;
  int64_t registers = 65536;     ///< of 4 bytes, of all threads
  int64_t most_registers = 255;  ///< of a thread
  int most_groups = 3;
  int most_barriers = 96;
};

/// Chooses what kernel.h leaves open, and says in `repairs` what differs from the plan. Throws
/// Refused where sums do not fit the registers, or the matrices the scratchpad.
void fit(Kernel& kernel, const Chip& chip = {});

}  // namespace fuseflow::cuda
