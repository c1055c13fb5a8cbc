// What is computed only to be masked: Q K^T in front of an attention mask, the sums of a dense GAT.
// Its statements move into the region of the statement that masks it, where the mask's entries are
// the only coordinates that any of them visits (a sampled product). On its own, a region would
// compute all of it, and an unfused program would cost what a dense one does.
#pragma once

#include "import/values/draft.h"

namespace fuseflow {

/// Formats are final; only the groups of statements change.
void join_masked_products(const Program& program, DraftProgram& draft);

}  // namespace fuseflow
