#include "graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace fuseflow {

FUSEFLOW_DEFINE_VALUE_TYPE(Node);
FUSEFLOW_DEFINE_VALUE_TYPE(Graph);

std::string_view stream_kind_name(StreamKind kind) {
  return kind == StreamKind::crd ? "crd" : kind == StreamKind::ref ? "ref" : "val";
}

void name_streams(Graph& graph) {
  std::set<std::string> used;
  std::map<std::string, int> next_suffix;
  for (Stream& stream : graph.streams) {
    std::string base = stream.name;
    if (base.empty()) {
      base = std::string(1, stream_kind_name(stream.kind)[0]);
      if (!stream.indices.empty()) base += "_" + graph.indices[stream.indices.back()].name;
    }
    stream.name = base;
    while (!used.insert(stream.name).second) {
      stream.name = fmt::format("{}_{}", base, ++next_suffix[base]);
    }
  }
}

std::vector<InputGroup> groups_of(const Node& node) {
  std::vector<InputGroup> groups;
  InputGroup next{.first = 0, .size = 0, .port = 1};
  for (const int size : node.groups) {
    next.size = static_cast<size_t>(size);
    groups.push_back(next);
    next.first += next.size;
    next.port += next.size - 1;
  }
  return groups;
}

size_t group_of(const Node& node, size_t input) {
  size_t group = 0;
  size_t end = static_cast<size_t>(node.groups[0]);
  while (input >= end) end += static_cast<size_t>(node.groups[++group]);
  return group;
}

bool Graph::starts_by_rows(int phase) const {
  return std::binary_search(row_phases.begin(), row_phases.end(), phase);
}

int Graph::last_started_with(int phase) const {
  // Row phases ascend: those that follow the phase one by one are as far apart as their places.
  const auto first = std::lower_bound(row_phases.begin(), row_phases.end(), phase + 1);
  const auto follows = [&](const int& next) { return next - (phase + 1) == &next - &*first; };
  return phase + static_cast<int>(std::partition_point(first, row_phases.end(), follows) - first);
}

std::vector<int> phases_written(const Graph& graph, size_t tensors) {
  std::vector<int> result(tensors, -1);
  for (const Node& node : graph.nodes) {
    const bool writes = node.kind == NodeKind::write_level || node.kind == NodeKind::write_values;
    if (writes) result[static_cast<size_t>(node.tensor)] = node.phase;
  }
  return result;
}

std::vector<int> parts_written(const Graph& graph, size_t tensors) {
  std::vector<int> result(tensors, 0);
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::write_values) ++result[static_cast<size_t>(node.tensor)];
  }
  return result;
}

std::vector<bool> loaded_at_start(const Graph& graph, size_t tensors) {
  std::vector<bool> load(tensors, false);
  for (const TensorId tensor : graph.scratchpad) load[static_cast<size_t>(tensor)] = true;
  for (const TensorId tensor : graph.resident) load[static_cast<size_t>(tensor)] = false;
  const std::vector<int> written = phases_written(graph, tensors);
  for (size_t t = 0; t < tensors; ++t) load[t] = load[t] && written[t] < 0;
  return load;
}

bool uses_memory(const Graph& graph, size_t tensors) {
  const std::vector<bool> load = loaded_at_start(graph, tensors);
  if (std::find(load.begin(), load.end(), true) != load.end()) return true;
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return node.tensor >= 0 && !graph.on_chip(node.tensor);
  });
}

}  // namespace fuseflow
