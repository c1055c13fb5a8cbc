// What a rewrite may do about tensors by their types. What a region stores is rounded to the
// tensor's type and what it streams is not, so a tensor is the value of its expression only where
// its type holds every f32 (ir-spec/language.md, "Element types"). Internal.
#pragma once

#include "tensor/element_type.h"

namespace fuseflow {

/// Whether storing does no more than round: sums in another order may round elsewhere. To whole
/// numbers, to truth values and to the largest value where there is no infinity is more than that.
bool only_rounds(ElementType type);

/// Whether what is read of either is the same: no value is rounded, or each by the same rule.
bool hold_the_same(ElementType a, ElementType b);

/// The type of a tensor that a rewrite adds for a reader of type `reader`: the reader's where that
/// rounds nothing, or only rounds and the rewrite may round; else f32.
ElementType type_of_part(ElementType reader, bool may_round);

}  // namespace fuseflow
