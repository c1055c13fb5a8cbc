// A region's graph as people look at it: nodes of parallel copies drawn as one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace fuseflow {

struct NodeGroup {
  std::vector<size_t> nodes;  ///< of the graph, in its order; the copies of one node
  std::vector<size_t>
      inputs;  ///< groups that give its inputs, without repetition, smaller than its own number
};

/// Two nodes are copies if they do the same to the same tensors with inputs from the same groups.
std::vector<NodeGroup> collapse_copies(const Graph& graph);

}  // namespace fuseflow
