// What a graph writes and reads: each tensor once and whole, before it is read. Private to the
// verifier.
#pragma once

#include <span>

#include "graph/spaces.h"

namespace fuseflow {

/// A tensor's levels are written once, by nested streams of one space chain, together with its
/// values, and before a later phase reads them. Calls `error` with each node that breaks this and
/// what is wrong with it. Ids and fields of nodes must be valid.
void check_writes(const Graph& graph, std::span<const GraphTensor> tensors, const Spaces& spaces,
                  const GraphError& error);

}  // namespace fuseflow
