// A region's graph as people look at it: nodes of parallel copies drawn as one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "ir/program.h"

namespace fuseflow {

struct NodeGroup {
  std::vector<size_t> nodes;  ///< of the graph, in its order; the copies of one node
  std::vector<size_t>
      inputs;  ///< groups that give its inputs, without repetition, smaller than its own number
};

/// Two nodes are copies if they do the same to the same tensors with inputs from the same groups.
std::vector<NodeGroup> collapse_copies(const Graph& graph);

/// Graphviz of the groups: `label` and `fill` (a colour, #rrggbb) by group.
std::string groups_dot(const std::vector<NodeGroup>& groups, const std::vector<std::string>& labels,
                       const std::vector<std::string>& fills);

}  // namespace fuseflow
