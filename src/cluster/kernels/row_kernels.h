// The tiles of elementwise kernels and of reductions of rows: candidates that fit a core ranked by
// cost, the best of them simulated, the fastest. Products: tiles.h.
#pragma once

#include <optional>

#include "cluster/common/candidates.h"
#include "cluster/kernels/form.h"
#include "machine/machine.h"

namespace fuseflow::cluster {

using RowKernelPlan = TilesPlan<KernelSizes>;

/// The fastest kernel of a form that is no product; nothing where no tile fits the machine.
std::optional<RowKernelPlan> fastest_row_kernel(const KernelForm& form, const Machine& machine);

}  // namespace fuseflow::cluster
