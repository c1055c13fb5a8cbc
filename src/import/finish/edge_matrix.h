// Message passing as work on sparse matrices: what is gathered to edges, computed there and
// scattered to nodes is a product with, or a reduction over, the matrix of the edges.
#pragma once

#include "import/values/draft.h"

namespace fuseflow {

/// Edges whose ends are constant become entries of a matrix where that pays. A value of each edge
/// gets the matrix's dimensions in the place of the one over edges, gathers become subscripts, and
/// a scatter reduces over the other end. Every value is masked with the matrix; masks that turn out
/// to be needless are dropped once facts are known (edge_masks.h).
void edges_to_matrices(DraftProgram& draft);

}  // namespace fuseflow
