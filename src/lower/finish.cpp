#include "lower/finish.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "nodes/rule.h"

namespace fuseflow {

namespace {

/// Unused payloads of a join, with the inputs they came from. Groups of a left join
/// whose payloads are all unread go too.
void trim_join(Node& node, const std::vector<bool>& used) {
  const bool all = std::all_of(node.outputs.begin() + 1, node.outputs.end(),
                               [&](StreamId s) { return used[s]; });
  if (all && !joins_in_first_space(node.kind)) return;
  Node trimmed = node;
  trimmed.inputs.clear();
  trimmed.groups.clear();
  trimmed.outputs = {node.outputs[0]};
  for (const auto& [at, size, port] : groups_of(node)) {
    std::vector<Input> kept{node.inputs[at]};
    for (size_t k = 1; k < size; ++k) {
      if (!used[node.outputs[port + k - 1]]) continue;
      kept.push_back(node.inputs[at + k]);
      trimmed.outputs.push_back(node.outputs[port + k - 1]);
    }
    if (joins_in_first_space(node.kind) && at > 0 && kept.size() == 1) continue;
    trimmed.groups.push_back(static_cast<int>(kept.size()));
    trimmed.inputs.insert(trimmed.inputs.end(), kept.begin(), kept.end());
  }
  node = std::move(trimmed);
}

}  // namespace

std::vector<int> remove_dead(Graph& graph, std::vector<size_t>& tags) {
  std::vector<bool> used(graph.streams.size(), false);
  std::vector<bool> keep(graph.nodes.size(), false);
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    Node& node = graph.nodes[n];
    keep[n] = writes_tensor(node.kind) || std::any_of(node.outputs.begin(), node.outputs.end(),
                                                      [&](StreamId s) { return used[s]; });
    if (!keep[n]) continue;
    if (joins(node.kind)) trim_join(node, used);
    for (const Input& input : node.inputs) {
      if (!input.is_immediate()) used[input.stream] = true;
    }
  }
  Graph result;
  result.scratchpad = graph.scratchpad;
  result.row_phases = graph.row_phases;
  std::vector<StreamId> moved(graph.streams.size(), -1);
  std::vector<int> index_moved(graph.indices.size(), -1);
  std::vector<int> index_was;
  std::vector<size_t> kept_tags;
  result.nodes.reserve(graph.nodes.size());
  result.streams.reserve(graph.streams.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!keep[n]) continue;
    Node& node = graph.nodes[n];
    const auto id = static_cast<NodeId>(result.nodes.size());
    for (Input& input : node.inputs) {
      if (!input.is_immediate()) input.stream = moved[input.stream];
    }
    for (size_t port = 0; port < node.outputs.size(); ++port) {
      Stream stream = std::move(graph.streams[node.outputs[port]]);
      stream.producer = id;
      stream.port = static_cast<int>(port);
      for (int& index : stream.indices) {
        int& to = index_moved[index];
        if (to < 0) {
          to = static_cast<int>(result.indices.size());
          result.indices.push_back(std::move(graph.indices[index]));
          index_was.push_back(index);
        }
        index = to;
      }
      moved[node.outputs[port]] = static_cast<StreamId>(result.streams.size());
      node.outputs[port] = static_cast<StreamId>(result.streams.size());
      result.streams.push_back(std::move(stream));
    }
    result.nodes.push_back(std::move(node));
    kept_tags.push_back(tags[n]);
  }
  graph = std::move(result);
  tags = std::move(kept_tags);
  return index_was;
}

void name_streams(Graph& graph, const std::vector<std::string>& tensor_names) {
  std::set<std::string> taken;
  std::map<std::string, int> next;
  for (Stream& stream : graph.streams) {
    const Node& node = graph.nodes[stream.producer];
    std::string base;
    if (stream.kind == StreamKind::crd) {
      base = stream.indices.empty() ? "c" : graph.indices[stream.indices.back()].name;
    } else if (node.kind == NodeKind::root) {
      base = "root";
    } else if (node.kind == NodeKind::map) {
      base = op_info(node.op).name;
    } else if (node.tensor >= 0) {
      const bool other = node.other_tensor >= 0 && stream.port == 2;
      base = tensor_names[other ? node.other_tensor : node.tensor] +
             (stream.kind == StreamKind::ref ? ".r" : ".v");
    } else if (!node.inputs.empty() && !node.inputs[0].is_immediate() &&
               node.kind == NodeKind::repeat) {
      base = graph.streams[node.inputs[0].stream].name;
      base = base.substr(0, base.rfind('_'));
    } else {
      base = stream.kind == StreamKind::ref ? "r" : node_kind_name(node.kind);
    }
    std::string name = base;
    while (!taken.insert(name).second) name = base + "_" + std::to_string(++next[base] + 1);
    stream.name = name;
  }
}

}  // namespace fuseflow
