#include "cluster/common/kernel_sequence.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cluster/common/timings.h"

namespace fuseflow::cluster {
namespace {

/// Loads of what was touched before, the longest ago first.
std::vector<NodeId> held_loads(const Graph& graph, const std::map<TensorId, int64_t>& touched) {
  std::vector<std::pair<int64_t, NodeId>> loads;
  for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    const auto at = touched.find(node.tensor);
    if (node.kind == NodeKind::tile_load && at != touched.end()) loads.emplace_back(at->second, n);
  }
  std::sort(loads.begin(), loads.end());
  std::vector<NodeId> held;
  held.reserve(loads.size());
  for (const auto& [when, n] : loads) held.push_back(n);
  return held;
}

}  // namespace

void KernelSequence::run(const Graph& graph) {
  LaunchStart from;
  if (machine_.has_l2()) from.held = held_loads(graph, touched_);
  if (apart_.kernels > 0) apart_.total.cycles += machine_.reconfiguration_cycles;
  apart_.total += timed(graph, machine_, from);
  for (const Node& node : graph.nodes) {
    if (node.tensor >= 0) touched_[node.tensor] = apart_.kernels;
  }
  ++apart_.kernels;
}

}  // namespace fuseflow::cluster
