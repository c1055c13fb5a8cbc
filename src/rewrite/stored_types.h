// What a rewrite may do about tensors by their types. What a region stores is rounded to the
// tensor's type and what it streams is not, so a tensor is the value of its expression only where
// its type holds every f32, or the expression has no other values than the type's
// (ir-spec/language.md, "Element types"). Internal.
#pragma once

#include <functional>

#include "ir/term.h"
#include "tensor/element_type.h"

namespace fuseflow {

/// Whether storing does no more than round: sums in another order may round elsewhere. To whole
/// numbers, to truth values and to the largest value where there is no infinity is more than that.
bool only_rounds(ElementType type);

/// Whether what is read of either is the same: no value is rounded, or each by the same rule.
bool hold_the_same(ElementType a, ElementType b);

/// The type of the values that an expression reads of a tensor.
using TypeRead = std::function<ElementType(TensorId)>;

/// The type of a tensor that a rewrite adds for the value of `part` and a reader of type `reader`:
/// a narrow one that the values have been rounded to already; the reader's where that rounds
/// nothing, or only rounds and the rewrite may round; else f32.
ElementType type_of_part(const Term& part, const TypeRead& type_read, ElementType reader,
                         bool may_round);

}  // namespace fuseflow
