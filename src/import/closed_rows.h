// Rows that a mask closes entirely. A softmax over nothing but -inf is NaN in every entry, and one
// over nothing but a large finite number is even: such rows cannot be absent, but all others can.
// Where some rows of a softmax are closed, two constants say which: `VALUE.closed`, one bit a row,
// keeps the row's maximum and sum at values that leave absent entries 0; `VALUE.closed_rows` holds
// every entry of those rows, and no other, so that they alone are evaluated densely.
#pragma once

#include "import/draft.h"

namespace fuseflow {

/// Fills `draft.closed_rows` from the masks' values, taking all scores for finite. What is found
/// depends on the model and on the inputs that it marks as used, nothing else: the loader of
/// constants finds the same. After settle_structure.
void find_closed_rows(DraftProgram& draft);

/// The closed rows of the softmax with that maximum; null if there are none.
const ClosedRows* closed_rows_of(const DraftProgram& draft, TensorId maximum);

/// Adds a constant of a ClosedRows to the program in the making.
TensorId add_closed_vector(DraftProgram& draft, const ClosedRows& rows);
TensorId add_closed_matrix(DraftProgram& draft, const ClosedRows& rows);

/// A -inf mask with closed rows in front of the softmax whose maximum is statement `maximum`: its
/// maximum, sum and result are made to give NaN there and to stay sparse elsewhere. False if the
/// mask's values do not show that all other rows have a finite maximum.
bool guard_closed_rows(const Program& program, DraftProgram& draft, size_t maximum);

}  // namespace fuseflow
