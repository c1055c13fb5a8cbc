// Checks a dataflow graph: well-formed ids, one producer a stream, producers before consumers,
// phases in order, and the typing rules (typing.h). Needs of the tensors only name, format, shape.
#pragma once

#include <span>

#include "graph/graph.h"
#include "graph/spaces.h"

namespace fuseflow {

/// Reports every violation. Spaces are computed only if the structure is sound.
void verify_graph(const Graph& graph, std::span<const GraphTensor> tensors,
                  const GraphError& error);

}  // namespace fuseflow
