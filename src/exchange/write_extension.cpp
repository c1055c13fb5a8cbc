#include "exchange/write_extension.h"

#include "nodes/rule.h"

namespace fuseflow {

namespace {

void set_stream(comal::Extension::Port& port, StreamKind kind, uint64_t id,
                const std::string& name) {
  const auto fill = [&](auto* message) {
    set_id(message, id);
    message->set_name(name);
  };
  if (kind == StreamKind::crd) fill(port.mutable_crd());
  if (kind == StreamKind::ref) fill(port.mutable_ref());
  if (kind == StreamKind::val) fill(port.mutable_val());
}

void write_ports(const Graph& graph, StreamIds& ids, const Node& node,
                 comal::Extension& extension) {
  for (const Input& input : node.inputs) {
    comal::Extension::Port& port = *extension.add_inputs();
    if (input.is_immediate()) {
      port.set_number(input.immediate);
      continue;
    }
    const StreamKind kind = graph.streams[static_cast<size_t>(input.stream)].kind;
    set_stream(port, kind, ids.take(input.stream), "");
  }
  for (const StreamId s : node.outputs) {
    comal::Extension::Port& port = *extension.add_outputs();
    const Stream& stream = graph.streams[static_cast<size_t>(s)];
    set_stream(port, stream.kind, ids.given(s), stream.name);
    for (const int index : stream.indices) {
      port.add_loops(graph.indices[static_cast<size_t>(index)].name);
    }
  }
}

}  // namespace

void look_at(const Graph& graph, const StreamIds& ids, StreamId stream,
             comal::Operation& operation) {
  set_stream(*operation.mutable_extension()->add_inputs(),
             graph.streams[static_cast<size_t>(stream)].kind, ids.given(stream), "");
}

void write_extension(const Graph& graph, StreamIds& ids, const Node& node,
                     const std::string& tensor, comal::Extension& extension) {
  const NodeFields& info = *node_rule(node.kind).fields;
  extension.set_kind(node_kind_name(node.kind));
  write_ports(graph, ids, node, extension);
  if (info.op) extension.set_op(std::string(op_info(node.op).name));
  if (info.reduction) extension.set_reduction(std::string(reduction_name(node.reduction)));
  if (info.init && node.init != 0) extension.set_init(node.init);
  extension.set_tensor(tensor);
  if (node.level > 0) extension.set_level(node.level);
  extension.set_order(node.order);
  extension.mutable_groups()->Assign(node.groups.begin(), node.groups.end());
  extension.set_offset(node.offset);
  if (node.stride != 1) extension.set_stride(node.stride);
  extension.mutable_strides()->Assign(node.strides.begin(), node.strides.end());
  extension.set_capacity(node.capacity);
  extension.set_least(node.least);
}

}  // namespace fuseflow
