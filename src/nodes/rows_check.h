// Checks kernels of rows (graph/tile_rows.h), which are right or wrong as a whole.
#pragma once

#include "nodes/tile_verifier.h"

namespace fuseflow {

/// Reports what is not a kernel of rows: products of rows with loaded weights, reductions of rows,
/// maps over one width, gathers where a width is spread over cores and a product needs all of it,
/// stores that write each element once. Ids must be valid.
void verify_rows(const Graph& graph, const TileError& error);

}  // namespace fuseflow
