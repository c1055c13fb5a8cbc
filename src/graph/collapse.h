// A region's graph as people look at it: nodes of parallel copies drawn as one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace fuseflow {

struct NodeGroup {
  std::vector<size_t> nodes;  ///< of the graph, in its order; the copies of one node
  /// Groups that give its inputs, each once, by number; all smaller than its own.
  std::vector<size_t> inputs;
};

/// Two nodes are copies if they do the same to the same tensors with inputs from the same groups.
std::vector<NodeGroup> collapse_copies(const Graph& graph);

}  // namespace fuseflow
