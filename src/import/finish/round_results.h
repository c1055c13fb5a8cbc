// Results of 16 bits are rounded by the program, too. A kernel of the model gives values of its
// result's type, and as a region of its own it stores them so. Fused with what reads them they
// would stay f32, and the fused program would compute something else than the model. So a statement
// whose value leaves its kernel says the rounding; where the value is stored, lowering leaves that
// to the storing (lower/lower.cpp). What stays inside a kernel is f32, also where a region keeps it
// for a later phase.
#pragma once

#include <vector>

#include "import/values/draft.h"

namespace fuseflow {

/// By tensor: whether a statement of another group than its own reads it.
std::vector<bool> leave_their_groups(const DraftProgram& draft);

/// Ends a statement with a rounding operator.
void round_value(Statement& statement, Op rounds);

/// Types, formats and the groups of statements are final.
void round_results(Program& program, DraftProgram& draft);

}  // namespace fuseflow
