#include "exchange/native_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <string_view>

#include "exchange/alu_ops.h"
#include "graph/node_fields.h"
#include "graph/spaces.h"
#include "nodes/rule.h"
#include "nodes/spaces.h"
#include "support/error.h"

namespace fuseflow {

namespace {

/// Fields of Node that are written, in an operation or as an extension (comal.proto), or that say
/// nothing.
constexpr std::string_view kWritten[] = {
    "kind", "inputs", "outputs", "tensor",  "level",    "op",    "reduction", "groups",
    "init", "offset", "stride",  "strides", "capacity", "least", "inner",     "from"};

/// The name of a field that is set and has no place in the files; empty: there is none.
std::string_view unwritten_field(const Node& node) {
  std::string_view name;
  for_each_field([&](const auto& row) {
    const bool written =
        std::find(std::begin(kWritten), std::end(kWritten), row.rule.name) != std::end(kWritten);
    if (!written && !is_default(node, row)) name = row.rule.name;
  });
  return name;
}

/// Why a node has no form; empty: it has one.
std::string no_form(const Graph& graph, const Program& program, const Node& node) {
  if (const std::string_view why = node_rule(node.kind).exchange->refused; !why.empty()) {
    return std::string(why);
  }
  if (node.phase > 0) return "phases have no form";
  for (const StreamId s : node.outputs) {
    if (!graph.streams[static_cast<size_t>(s)].block.empty()) return "blocks have no form";
  }
  if (const std::string_view name = unwritten_field(node); !name.empty()) {
    return fmt::format("`{}` has no form", name);
  }
  if (node.tensor < 0) return "";
  const Tensor& tensor = program.tensors[static_cast<size_t>(node.tensor)];
  if (!tensor.format.block.empty()) return "blocks have no form";
  for (const LevelKind level : tensor.format.levels) {
    if (level != LevelKind::dense && level != LevelKind::compressed) {
      return fmt::format("a {} level has no form", level_name(level));
    }
  }
  if (graph.on_chip(node.tensor) || tensor.placement == Placement::scratchpad)
    return "a scratchpad has no form";
  return "";
}

bool is_scan(const Graph& graph, const Program& program, const Node& node) {
  if (node.tensor < 0 || node.offset != 0) return false;
  const Stream& crd = graph.streams[static_cast<size_t>(node.outputs[0])];
  const Tensor& tensor = program.tensors[static_cast<size_t>(node.tensor)];
  return graph.indices[static_cast<size_t>(crd.indices.back())].extent >=
         tensor.level_extent(static_cast<size_t>(node.level));
}

bool is_join(const Node& node) {
  return node.init == 0 &&
         std::all_of(node.groups.begin(), node.groups.end(), [](int group) { return group == 2; });
}

bool is_alu(const Node& node) {
  return !node.inputs.front().is_immediate() && find_alu(node) != nullptr;
}

bool is_reduce(const Node& node) {
  if (node.reduction == Reduction::sum) return node.init == 0;
  return node.reduction == Reduction::max && node.init == -std::numeric_limits<float>::infinity();
}

/// SAM drops the zeros of values, with their coordinates.
bool drops_zeros(const Node& node) {
  return node.inputs.size() == 3 && node.init == 0 &&
         node.inputs[0].stream == node.inputs[2].stream;
}

bool is_repeat(const Graph& graph, const Node& node, Dialect dialect) {
  const auto kind = [&](size_t input) {
    return graph.streams[static_cast<size_t>(node.inputs[input].stream)].kind;
  };
  if (kind(0) == StreamKind::crd) return false;
  if (dialect == Dialect::sam) return kind(1) == StreamKind::crd;
  return kind(1) != StreamKind::crd || twin_of(graph, node.inputs[1].stream) >= 0;
}

/// The only node that takes a stream; null: there are more or none.
const Node* only_consumer(const Graph& graph, StreamId stream) {
  const Node* only = nullptr;
  for (const Node& node : graph.nodes) {
    for (const Input& input : node.inputs) {
      if (input.stream != stream || input.is_immediate()) continue;
      if (only != nullptr) return nullptr;
      only = &node;
    }
  }
  return only;
}

/// Outer and inner coordinates; what else is dropped is only written.
bool is_drop(const Graph& graph, const Node& node) {
  const auto crd = [&](size_t input) {
    return graph.streams[static_cast<size_t>(node.inputs[input].stream)].kind == StreamKind::crd;
  };
  if (node.groups[0] != 1 || !crd(1)) return false;
  for (size_t i = 2; i < node.outputs.size(); ++i) {
    const Node* consumer = only_consumer(graph, node.outputs[i]);
    if (consumer == nullptr || !writes_tensor(consumer->kind)) return false;
  }
  return true;
}

}  // namespace

std::vector<StreamId> written_as(const Graph& graph) {
  std::vector<StreamId> as(graph.streams.size());
  for (size_t s = 0; s < as.size(); ++s) as[s] = static_cast<StreamId>(s);
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::drop || !is_drop(graph, node)) continue;
    for (size_t i = 2; i < node.outputs.size(); ++i) {
      as[static_cast<size_t>(node.outputs[i])] = as[static_cast<size_t>(node.inputs[i].stream)];
    }
  }
  return as;
}

StreamId twin_of(const Graph& graph, StreamId coordinates) {
  const Stream& crd = graph.streams[static_cast<size_t>(coordinates)];
  for (const StreamId s : graph.nodes[static_cast<size_t>(crd.producer)].outputs) {
    const Stream& other = graph.streams[static_cast<size_t>(s)];
    if (other.kind != StreamKind::crd && other.indices.size() == crd.indices.size()) return s;
  }
  return -1;
}

bool has_operation(const Graph& graph, const Program& program, const Node& node, Dialect dialect) {
  switch (node.kind) {
    case NodeKind::root:
    case NodeKind::array:
    case NodeKind::buffer:
    case NodeKind::write_level:
    case NodeKind::write_values:
      return true;
    case NodeKind::scan:
      return is_scan(graph, program, node);
    case NodeKind::repeat:
      return is_repeat(graph, node, dialect);
    case NodeKind::intersect:
    case NodeKind::unite:
      return is_join(node);
    case NodeKind::map:
      return is_alu(node);
    case NodeKind::reduce:
      return is_reduce(node);
    case NodeKind::accumulate:
      return node.reduction == Reduction::sum && node.init == 0;
    case NodeKind::drop:
      return is_drop(graph, node);
    case NodeKind::filter:
      return dialect == Dialect::sam && drops_zeros(node);
    default:
      return false;
  }
}

bool is_looked_at(const Graph& graph, const Node& node, size_t input) {
  switch (node.kind) {
    case NodeKind::reduce:
      return node.inputs.size() == 2 && input == 0;
    case NodeKind::accumulate:
      return input == 0;
    case NodeKind::filter:
      return input == 2;  // SAM takes the values once
    case NodeKind::repeat:
      return input == 1 &&
             graph.streams[static_cast<size_t>(node.inputs[1].stream)].kind == StreamKind::crd;
    default:
      return false;
  }
}

void check_has_form(const Program& program, const Region& region) {
  const auto reject = [&](const std::string& message) {
    throw Error(ExitCode::rejected, fmt::format("region @{}: {}", region.name, message));
  };
  if (!region.graph) reject("has no graph, expected a program from fuseflow-lower");
  const Graph& graph = *region.graph;
  const bool empty = std::all_of(graph.nodes.begin(), graph.nodes.end(),
                                 [](const Node& node) { return node.kind == NodeKind::root; });
  if (empty) reject("has nothing to write: no node but `root`");
  const std::vector<GraphTensor> tensors = graph_tensors(program);
  for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n) {
    const std::string why = no_form(graph, program, graph.nodes[static_cast<size_t>(n)]);
    if (!why.empty()) reject(fmt::format("{}: {}", node_text(graph, tensors, n), why));
  }
}

}  // namespace fuseflow
