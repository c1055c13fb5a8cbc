// Checks kernels of tiles (graph/tile_kernel.h), which are right or wrong as a whole.
#pragma once

#include "nodes/tile_verifier.h"

namespace fuseflow {

/// Reports what is not a kernel: one store, reductions that walk k together, tiles of few elements,
/// maps that broadcast, subscripts of the dimensions that their tiles have. Ids must be valid.
void verify_kernel(const Graph& graph, const TileError& error);

/// The part of it that holds for the kernel as a whole, of nodes that are right by themselves: what
/// stands in a step of k and what after it, and how reductions read each other. Whether all holds.
bool verify_kernel_whole(const Graph& graph, const TileError& error);

}  // namespace fuseflow
