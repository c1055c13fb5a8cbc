// Strongly connected components of a directed graph. Knows nothing of what the graph stands for.
#pragma once

#include <cstddef>
#include <vector>

#include "support/edges.h"

namespace fuseflow {

struct StrongComponents {
  std::vector<size_t> part;  ///< by node: the number of its component
  size_t count = 0;
};

/// Numbered so that every edge goes to the same component or
/// to one with a smaller number. (Tarjan's algorithm, without recursion.)
StrongComponents strong_components(const Edges& edges);
/// The strong components of a graph given by `next[v]`: the nodes that edges from v go to.
StrongComponents strong_components(const std::vector<std::vector<size_t>>& next);

}  // namespace fuseflow
