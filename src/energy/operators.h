// Which circuits an operator or a reduction needs: its parts, one for each FLOP that it counts as.
#pragma once

#include <array>

#include "machine/energy_model.h"
#include "ops/op.h"

namespace fuseflow {

/// Operations of each kind, by Arithmetic.
using Parts = std::array<int, kArithmetics>;

/// Of one evaluation. They add up to op_info(op).flops.
Parts parts_of(Op op);

/// What combines two values. (The division of a mean counts as one more addition: lowering gives
/// sums, which a map divides.)
Arithmetic arithmetic_of(Reduction reduction);

}  // namespace fuseflow
