// Kernels and the elementwise statements that alone read them as one kernel: found among the
// kernels of a program, planned, compared with these, and put into it where they are faster.
#pragma once

#include <vector>

#include "cluster/common/kernel_sequence.h"
#include "ir/program.h"
#include "machine/machine.h"

namespace fuseflow::cluster {

/// Kernels that could be one.
struct FoldOutcome {
  TensorId result = -1;           ///< of the last statement
  std::vector<TensorId> members;  ///< in program order
  KernelsApart apart;             ///< the kernels as they are
  Measured fused;
  bool taken = false;
};

/// Looks at the kernels of all regions (kernels.h) that leave no sum over cores behind. Those that
/// are taken have a region each, in the place of their last statement.
std::vector<FoldOutcome> fold_kernels(Program& program, const Machine& machine);

}  // namespace fuseflow::cluster
