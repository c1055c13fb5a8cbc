#include "nodes/spaces.h"

#include <fmt/format.h>

#include "nodes/rule.h"
#include "nodes/typing.h"
#include "support/error.h"

namespace fuseflow {

std::string node_text(const Graph& graph, std::span<const GraphTensor> tensors, NodeId id) {
  const Node& node = graph.nodes[id];
  const NodeRule& rule = node_rule(node.kind);
  const NodeFields& fields = rule.fields;
  std::string text(*rule.name);
  if (fields.tensor && node.tensor >= 0 && static_cast<size_t>(node.tensor) < tensors.size()) {
    text += " %" + tensors[node.tensor].name;
    if (fields.level) text += fmt::format(".{}", node.level);
  }
  if (fields.op) text += fmt::format(" {}", op_info(node.op).name);
  if (fields.reduction) text += fmt::format(" {}", reduction_name(node.reduction));
  if (!node.outputs.empty() && node.outputs[0] >= 0 &&
      static_cast<size_t>(node.outputs[0]) < graph.streams.size()) {
    text = fmt::format("${} = {}", graph.streams[node.outputs[0]].name, text);
  }
  return text;
}

Spaces compute_spaces(const Graph& graph, std::span<const GraphTensor> tensors,
                      const GraphError& error) {
  return Typing(graph, tensors, error).run();
}

Spaces compute_spaces(const Graph& graph, std::span<const GraphTensor> tensors) {
  const GraphError fail = [](NodeId, std::string message) {
    throw Error(ExitCode::rejected, std::move(message));
  };
  return compute_spaces(graph, tensors, fail);
}

}  // namespace fuseflow
