#include "sim/timing/aliased_streams.h"

#include <numeric>

#include "nodes/rule.h"

namespace fuseflow::engine {

namespace {

/// Inputs of one group are taken in the same steps; empty if nothing is known of the node's inputs.
std::vector<size_t> taken_together(const Node& node) {
  std::vector<size_t> group(node.inputs.size(), 0);
  if (joins(node.kind)) {
    for (size_t i = 0; i < group.size(); ++i) group[i] = group_of(node, i);
    return group;
  }
  const bool one_group =
      node.kind == NodeKind::map || node.kind == NodeKind::locate || node.kind == NodeKind::filter;
  return one_group ? group : std::vector<size_t>{};
}

}  // namespace

bool gives_together(NodeKind kind) {
  return kind == NodeKind::scan || kind == NodeKind::gallop || joins(kind) ||
         kind == NodeKind::filter;
}

std::vector<size_t> aliased_inputs(const Graph& graph, const Node& node) {
  std::vector<size_t> aliased(node.inputs.size());
  std::iota(aliased.begin(), aliased.end(), size_t{0});
  const std::vector<size_t> group = taken_together(node);
  const auto producer = [&](size_t input) {
    return graph.streams[node.inputs[input].stream].producer;
  };
  for (size_t i = 1; i < group.size(); ++i) {
    for (size_t j = 0; j < i && !node.inputs[i].is_immediate(); ++j) {
      if (node.inputs[j].is_immediate() || aliased[j] != j || group[i] != group[j]) continue;
      if (producer(i) != producer(j)) continue;
      const bool same = node.inputs[i].stream == node.inputs[j].stream;
      const Node& from = graph.nodes[producer(i)];
      if (!same && !gives_together(from.kind)) continue;
      aliased[i] = j;
      break;
    }
  }
  return aliased;
}

}  // namespace fuseflow::engine
