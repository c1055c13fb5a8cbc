// Rows that a mask closes entirely. A softmax over nothing but -inf is NaN in every entry, and one
// over nothing but a large finite number is even: such rows cannot be absent, but all others can.
// Where some rows of a softmax are fully masked, two constants say which: `VALUE.closed`, one bit a
// row, keeps the row's maximum and sum at values that leave absent entries 0; `VALUE.closed_rows`
// holds every entry of those rows, and no other, so that they alone are evaluated densely.
#pragma once

#include "import/values/draft.h"

namespace fuseflow {

/// Fills `draft.closed_rows` from the masks' values, taking all scores for finite. What is found
/// depends on the model and on the inputs that it marks as used, nothing else: the loader of
/// constants finds the same. After finalize_structure.
void find_fully_masked_rows(DraftProgram& draft);

/// The fully masked rows of the softmax with that maximum; null if there are none.
const FullyMaskedRows* fully_masked_rows_of(const DraftProgram& draft, TensorId maximum);

/// Adds a constant of a FullyMaskedRows to the program in the making.
TensorId add_fully_masked_vector(DraftProgram& draft, const FullyMaskedRows& rows);
TensorId add_fully_masked_matrix(DraftProgram& draft, const FullyMaskedRows& rows);

/// A -inf mask with fully masked rows in front of the softmax whose maximum is statement `maximum`:
/// its maximum, sum and result are made to give NaN there and to stay sparse elsewhere. False if
/// the mask's values do not show that all other rows have a finite maximum.
bool guard_fully_masked_rows(const Program& program, DraftProgram& draft, size_t maximum);

}  // namespace fuseflow
