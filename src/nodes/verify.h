// Checks a dataflow graph: well-formed ids, one producer a stream, producers before consumers,
// phases in order, and the typing rules (typing.h). Needs of the tensors only name, format, shape.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/spaces.h"

namespace fuseflow {

/// Reports every violation. Spaces are computed only if the structure is sound.
void verify_graph(const Graph& graph, std::span<const GraphTensor> tensors,
                  const GraphError& error);

/// Verifies a graph as it was written by hand: streams with untyped[stream] have no type yet, and
/// get that which their node gives them (a graph of tiles must say all).
void complete_graph(Graph& graph, std::span<const GraphTensor> tensors,
                    const std::vector<bool>& untyped, const GraphError& error);

}  // namespace fuseflow
