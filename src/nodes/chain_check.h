// Checks chains of tiles (graph/tiles.h), which are right or wrong as a whole.
#pragma once

#include "nodes/tile_verifier.h"

namespace fuseflow {

/// Reports what is not a graph of tiles of this form: one hold, one second product, one store, the
/// communication that the cluster's shape needs and no other, held bytes that are those of the
/// tiles alive. Ids must be valid.
void verify_chain(const Graph& graph, const TileError& error);

}  // namespace fuseflow
