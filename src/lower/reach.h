// Which nodes of a directed graph can be reached from where, for many questions about one graph.
#pragma once

#include <vector>

#include "lower/node_set.h"
#include "support/edges.h"

namespace fuseflow {

class Reach {
 public:
  /// Only nodes of `marked` are asked for.
  Reach(const Edges& edges, const NodeSet& marked);

  /// Whether a node of `wanted`, all of which are marked, can be reached from `from`, which reaches
  /// itself.
  bool meets(size_t from, const NodeSet& wanted) const {
    return reached_[part_[from]].meets(wanted);
  }

 private:
  std::vector<size_t> part_;      ///< by node: its strongly connected part
  std::vector<NodeSet> reached_;  ///< by part: marked nodes
};

}  // namespace fuseflow
