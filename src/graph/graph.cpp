#include "graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace fuseflow {

namespace {

constexpr size_t kKinds = static_cast<size_t>(NodeKind::barrier_);

constexpr std::array<NodeKindInfo, kKinds> kInfos = {{
    {.name = "root"},
    {.name = "scan", .tensor = true, .level = true, .offset = true},
    {.name = "locate", .tensor = true, .level = true, .offset = true, .stride = true},
    {.name = "repeat"},
    {.name = "intersect", .groups = true},
    {.name = "unite", .groups = true, .init = true},
    {.name = "leftjoin", .groups = true, .init = true},
    {.name = "array", .tensor = true},
    {.name = "map", .op = true},
    {.name = "coordinate"},
    {.name = "reduce", .reduction = true, .init = true},
    {.name = "accumulate", .reduction = true, .order = true, .init = true, .capacity = true},
    {.name = "align"},
    {.name = "drop", .groups = true},
    {.name = "filter", .init = true},
    {.name = "buffer", .capacity = true},
    {.name = "write_level", .tensor = true, .level = true},
    {.name = "write_values", .tensor = true},
    {.name = "parallelize", .split = true},
    {.name = "serialize", .split = true},
    {.name = "pad", .init = true},
    {.name = "tile_load", .tensor = true, .capacity = true, .subscripts = true, .branch = true},
    {.name = "tile_multiply", .capacity = true, .branch = true, .held = true},
    {.name = "exchange"},
    {.name = "gather"},
    {.name = "tile_hold", .held = true},
    {.name = "shuffle"},
    {.name = "reduce_scatter"},
    {.name = "tile_store", .tensor = true, .subscripts = true},
}};

}  // namespace

const NodeKindInfo& node_kind_info(NodeKind kind) {
  return kInfos[static_cast<size_t>(kind)];
}

const char* node_kind_name(NodeKind kind) {
  return node_kind_info(kind).name.data();
}

std::optional<NodeKind> find_node_kind(std::string_view name) {
  for (size_t k = 0; k < kKinds; ++k) {
    if (kInfos[k].name == name) return static_cast<NodeKind>(k);
  }
  return std::nullopt;
}

std::vector<std::string> node_kind_names() {
  std::vector<std::string> names;
  names.reserve(kInfos.size());
  for (const NodeKindInfo& info : kInfos) names.emplace_back(info.name);
  return names;
}

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

bool Graph::starts_by_rows(int phase) const {
  return std::binary_search(row_phases.begin(), row_phases.end(), phase);
}

int Graph::last_started_with(int phase) const {
  while (starts_by_rows(phase + 1)) ++phase;
  return phase;
}

std::vector<int> phases_written(const Graph& graph, size_t tensors) {
  std::vector<int> result(tensors, -1);
  for (const Node& node : graph.nodes) {
    const bool writes = node.kind == NodeKind::write_level || node.kind == NodeKind::write_values;
    if (writes) result[static_cast<size_t>(node.tensor)] = node.phase;
  }
  return result;
}

}  // namespace fuseflow
