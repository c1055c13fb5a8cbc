#include "graph/collapse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace fuseflow {
namespace {

/// What copies have in common: everything that a node does, and the groups that it takes from.
/// Which output of a split it takes does not count: that is what makes copies.
std::string signature(const Graph& graph, const Node& node, const std::vector<size_t>& group_of) {
  // By name, so that a field more does not compile. Copies may differ in what they hold.
  const auto& [kind, inputs, outputs, tensor, level, other_tensor, other_level, op, reduction,
               order, contiguous, groups, init, offset, stride, strides, contract, capacity, least,
               phase, tile, statement] = node;
  std::string text =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", static_cast<int>(kind), tensor, level,
                  static_cast<int>(op), static_cast<int>(reduction), order, phase, offset, stride,
                  fmt::join(strides, ","), init, fmt::join(contract, ","));
  if (other_tensor >= 0) text += fmt::format(" %{}.{}", other_tensor, other_level);
  std::set<std::string> serialized;
  for (const Input& input : node.inputs) {
    if (input.is_immediate()) {
      text += fmt::format(" ={}", input.immediate);
      continue;
    }
    const Stream& stream = graph.streams[static_cast<size_t>(input.stream)];
    const size_t from = group_of[static_cast<size_t>(stream.producer)];
    const bool split =
        graph.nodes[static_cast<size_t>(stream.producer)].kind == NodeKind::parallelize;
    const std::string taken = fmt::format(" {}:{}", from, split ? 0 : stream.port);
    if (node.kind == NodeKind::serialize) {
      serialized.insert(taken);
    } else {
      text += taken;
    }
  }
  for (const std::string& taken : serialized) text += taken;
  return text;
}

}  // namespace

std::vector<NodeGroup> collapse_copies(const Graph& graph) {
  std::vector<NodeGroup> groups;
  std::map<std::string, size_t> known;
  std::vector<size_t> group_of(graph.nodes.size(), 0);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const auto [place, added] = known.emplace(signature(graph, node, group_of), groups.size());
    if (added) groups.emplace_back();
    group_of[n] = place->second;
    NodeGroup& group = groups[place->second];
    group.nodes.push_back(n);
    for (const Input& input : node.inputs) {
      if (input.is_immediate()) continue;
      const NodeId producer = graph.streams[static_cast<size_t>(input.stream)].producer;
      const size_t from = group_of[static_cast<size_t>(producer)];
      if (std::find(group.inputs.begin(), group.inputs.end(), from) == group.inputs.end()) {
        group.inputs.push_back(from);
      }
    }
  }
  return groups;
}

}  // namespace fuseflow
