// Terms of messages that one end of each edge decides alone. A network that gives what both ends
// have to a linear layer (PNA, CGConv) sums a product for each end: each depends on one node, and
// there are fewer nodes than edges.
#pragma once

#include "import/values/draft.h"

namespace fuseflow {

/// Gives such terms statements of their own, where the edges are then worth a matrix
/// (edge_class.h). What they compute for each edge becomes what is computed for each node there.
void split_edge_terms(DraftProgram& draft);

}  // namespace fuseflow
