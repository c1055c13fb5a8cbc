// Which circuits an operator or a reduction needs: its parts, one for each FLOP that it counts as.
// Energy prices the parts; the slowest of them decides how long a step of `map` takes.
#pragma once

#include <array>
#include <optional>

#include "machine/energy_model.h"
#include "machine/machine.h"
#include "ops/op.h"

namespace fuseflow {

/// Operations of each kind, by Arithmetic.
using Parts = std::array<int, kArithmetics>;

/// The parts of one evaluation of an operator. They add up to op_info(op).flops.
Parts parts_of(Op op);

/// The class of an operator that is slower than an addition on most machines, by its slowest part;
/// none for the others.
std::optional<OperatorClass> operator_class(Op op);

/// What combines two values. (The division of a mean counts as one more addition: lowering gives
/// sums, which a map divides.)
Arithmetic arithmetic_of(Reduction reduction);

}  // namespace fuseflow
