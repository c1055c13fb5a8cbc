// Masks of values of edges that facts show to be needless.
#pragma once

#include "import/values/draft.h"

namespace fuseflow {

/// Drops the masks of the statement with a matrix of edges whose operand has the masked value off
/// the matrix anyway, and is not computed there. What the statement reads is final.
void drop_edge_masks(Program& program, const DraftProgram& draft, Statement& statement);

}  // namespace fuseflow
