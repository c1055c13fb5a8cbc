#include "nodes/spaces.h"

#include <fmt/format.h>

#include "nodes/blocks.h"
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
    if (fields.other_tensor && node.other_tensor >= 0 &&
        static_cast<size_t>(node.other_tensor) < tensors.size()) {
      text += ", %" + tensors[node.other_tensor].name;
    }
    if (fields.other_level && node.other_tensor >= 0 &&
        static_cast<size_t>(node.other_tensor) < tensors.size()) {
      text += fmt::format(", %{}.{}", tensors[node.other_tensor].name, node.other_level);
    }
  }
  if (fields.op) text += fmt::format(" {}", op_info(node.op).name);
  if (fields.reduction) text += fmt::format(" {}", reduction_name(node.reduction));
  if (!node.outputs.empty() && node.outputs[0] >= 0 &&
      static_cast<size_t>(node.outputs[0]) < graph.streams.size()) {
    text = fmt::format("${} = {}", graph.streams[node.outputs[0]].name, text);
  }
  return text;
}

int loop_of_coordinates(const Graph& graph, const Spaces& spaces, StreamId stream) {
  for (;;) {
    const Node& producer = graph.nodes[graph.streams[stream].producer];
    const int from =
        node_rule(producer.kind).carried(producer, static_cast<size_t>(graph.streams[stream].port));
    if (from < 0) return spaces.of(stream).index;
    stream = producer.inputs[from].stream;
  }
}

Spaces compute_spaces(const Graph& graph, std::span<const GraphTensor> tensors,
                      const GraphError& error) {
  return Typing(graph, tensors, error).run();
}

Spaces infer_types(Graph& graph, std::span<const GraphTensor> tensors,
                   const std::vector<bool>& untyped, const GraphError& error) {
  Typing typing(graph, tensors, error);
  typing.infer(graph, untyped);
  Spaces spaces = typing.run();
  BlockRules rules(graph, tensors);
  for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n) {
    const std::vector<StreamId>& outputs = graph.nodes[n].outputs;
    for (size_t port = 0; port < outputs.size(); ++port) {
      if (spaces.of_stream[outputs[port]] < 0) return spaces;
      std::vector<int> block = rules.output(n, port);
      if (untyped[outputs[port]]) graph.streams[outputs[port]].block = std::move(block);
    }
  }
  return spaces;
}

Spaces compute_spaces(const Graph& graph, std::span<const GraphTensor> tensors) {
  const GraphError fail = [](NodeId, std::string message) {
    throw Error(ExitCode::rejected, std::move(message));
  };
  return compute_spaces(graph, tensors, fail);
}

}  // namespace fuseflow
