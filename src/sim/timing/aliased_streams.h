// Streams that hold the same at all times, because they are given together and taken together: one
// of them stands for all. What holds of a graph, whatever runs it.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/graph.h"

namespace fuseflow::engine {

/// Whether all outputs of a node of this kind are given in the same steps.
bool gives_together(NodeKind kind);

/// For each input of a node the first one that holds the same; itself if there is none.
std::vector<size_t> aliased_inputs(const Graph& graph, const Node& node);

}  // namespace fuseflow::engine
