// The parts of a tensor: its values where several writers store them, each in its copies of the
// loops that are split. Private to the verifier.
#pragma once

#include <span>

#include "graph/spaces.h"

namespace fuseflow {

/// Whether the writers of a tensor's values (`writers`: its write_values) store each of its
/// positions at most once, and none is missing: one that is in no copy of a split loop, or one in
/// every copy. Where they are in copies, all levels are dense and each takes the coordinates of all
/// its loops. Calls `fail` with the first node that breaks this and what is wrong with it; then
/// returns false.
bool are_parts(const Graph& graph, std::span<const GraphTensor> tensors, const Spaces& spaces,
               std::span<const NodeId> writers, const GraphError& fail);

}  // namespace fuseflow
