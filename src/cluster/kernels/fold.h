// Kernels and the elementwise statements that alone read them as one kernel: found among the
// kernels of a program, planned, compared with these, and put into it where they are faster.
#pragma once

#include <vector>

#include "cluster/common/outcome.h"
#include "ir/program.h"
#include "machine/machine.h"

namespace fuseflow::cluster {

/// Looks at the kernels of all regions (kernels.h) that do not end in a sum over cores. Those that
/// are taken have a region each, in the place of their last statement.
std::vector<KernelOutcome> fold_kernels(Program& program, const Machine& machine);

}  // namespace fuseflow::cluster
