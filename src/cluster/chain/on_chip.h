// Plans as kernels that can be built: what a chain's kernel needs of a core of the chip
// (chip/fit.h), where the machine is one. Its C is in the scratchpad wherever a plan may hold it,
// and it has sums of one tile of E. The counts of the published space (rule 5) are those of
// capacity_of().
#pragma once

#include "cluster/chain/analyzer.h"

namespace fuseflow::cluster {

/// The capacity of a plan as its kernel is built, with the most copies of its operands that fit.
/// Where none fits, or none can be built, it does not fit. Of a machine for which no kernels are
/// generated: capacity_of().
Capacity capacity_built(const Chain& chain, const Plan& plan, const ChainSteps& steps,
                        const Machine& machine, Holding holding = Holding::linked);

}  // namespace fuseflow::cluster
