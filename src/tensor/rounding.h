// Rounding to an element type as an operator of a statement: which one it is, and which values need
// none. Tensors are rounded where they are stored (element_type.h); what is fused is not, unless
// its statement says so (ir-spec/language.md, "Element types").
#pragma once

#include <optional>

#include "ops/op.h"
#include "tensor/element_type.h"

namespace fuseflow {

/// The operator that rounds as storing in a tensor of `type` does; nothing for the types that have
/// none.
std::optional<Op> rounding_operator(ElementType type);

/// Whether every value of `other` is one of `type`. (Fewer pairs than hold: of two floating types
/// those where the narrow one has 8 bits.)
bool has_values_of(ElementType type, ElementType other);

/// Whether the result is an operand (after a condition), its magnitude, its negative, a whole
/// number next to it, or one of 0, 1 and -1: of values of a floating type it is one of the type.
bool keeps_type(Op op);

}  // namespace fuseflow
