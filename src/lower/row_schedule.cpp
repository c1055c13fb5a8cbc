#include "lower/row_schedule.h"

#include <algorithm>

#include "nodes/rule.h"

namespace fuseflow {

RowSchedule::RowSchedule(const Graph& graph) {
  size_t deepest = 0;
  for (const Stream& stream : graph.streams) deepest = std::max(deepest, stream.indices.size());
  for (const Node& node : graph.nodes) {
    std::vector<double> start(deepest + 1, 0);
    for (const Input& input : node.inputs) {
      if (input.is_immediate()) continue;
      const NodeId from = graph.streams[static_cast<size_t>(input.stream)].producer;
      for (size_t L = 0; L <= deepest; ++L) start[L] = std::max(start[L], given(from, L));
    }
    nodes_.push_back({std::move(start), rows_taken(graph, node, deepest)});
  }
}

std::vector<double> RowSchedule::rows_taken(const Graph& graph, const Node& node, size_t deepest) {
  std::vector<double> taken(deepest + 1, 0);
  if (!reduces(node.kind)) return taken;
  const auto& around = graph.streams[static_cast<size_t>(node.inputs[0].stream)].indices;
  double ends = 1;  // iterations of all loops around, in a row of L
  for (size_t L = around.size();; --L) {
    taken[L] = 1 / ends;
    if (L == 0) return taken;
    const int64_t extent = graph.indices[static_cast<size_t>(around[L - 1])].extent;
    ends *= static_cast<double>(std::max<int64_t>(extent, 1));
  }
}

}  // namespace fuseflow
