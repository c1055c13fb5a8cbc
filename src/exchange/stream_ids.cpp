#include "exchange/stream_ids.h"

#include "exchange/native_form.h"

namespace fuseflow {

namespace {

/// What an operation takes in the place of an input that it only looks at; -1: nothing.
StreamId taken_instead(const Graph& graph, const Node& node, size_t input, Dialect dialect) {
  if (node.kind != NodeKind::repeat) return -1;
  const StreamId signal = node.inputs[input].stream;
  return dialect == Dialect::sam ? signal : twin_of(graph, signal);
}

}  // namespace

StreamIds::StreamIds(const Program& program, const Graph& graph, Dialect dialect)
    : as_(written_as(graph)),
      uses_(as_.size(), 0),
      named_(as_.size(), false),
      given_(as_.size(), 0),
      branches_(as_.size()) {
  count_uses(program, graph, dialect);
}

void StreamIds::count_uses(const Program& program, const Graph& graph, Dialect dialect) {
  for (const Node& node : graph.nodes) {
    const bool operation = has_operation(graph, program, node, dialect);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      StreamId s = node.inputs[i].stream;
      if (node.inputs[i].is_immediate()) continue;
      if (operation && node.kind == NodeKind::drop && i >= 2) continue;
      if (operation && is_looked_at(graph, node, i)) {
        named_[at(s)] = true;
        s = taken_instead(graph, node, i, dialect);
      }
      if (s < 0) continue;
      named_[at(s)] = true;
      ++uses_[at(s)];
    }
  }
}

void StreamIds::give(const Node& node) {
  for (const StreamId s : node.outputs) {
    if (named_[static_cast<size_t>(s)]) given_[static_cast<size_t>(s)] = next_++;
  }
}

uint64_t StreamIds::take(StreamId stream) {
  std::vector<uint64_t>& branches = branches_[at(stream)];
  if (branches.empty()) return given_[at(stream)];
  const uint64_t id = branches.back();
  branches.pop_back();
  return id;
}

}  // namespace fuseflow
