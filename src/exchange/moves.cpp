#include "exchange/moves.h"

#include "nodes/rule.h"

namespace fuseflow {

namespace {

/// The input that output `port` of a node passes on.
StreamId passed_on(const Node& node, size_t port) {
  const int input = node_rule(node.kind).carried(node, port);
  return node.inputs[static_cast<size_t>(input)].stream;
}

size_t inner_input(const Node& drop) {
  return static_cast<size_t>(drop.groups[0]);
}

/// A drop, filter or align that is well formed: one that is not the verifier refuses.
bool moves_streams(const Node& node) {
  const size_t inputs = node.inputs.size();
  for (const Input& input : node.inputs) {
    if (input.is_immediate()) return false;
  }
  if (node.kind == NodeKind::align) return inputs == 3 && node.outputs.size() == 1;
  if (node.kind == NodeKind::filter) return inputs > 1 && node.outputs.size() == inputs - 1;
  return node.kind == NodeKind::drop && node.groups.size() == 2 && node.groups[0] > 0 &&
         node.groups[1] > 0 && inputs == node.outputs.size() &&
         inputs == static_cast<size_t>(node.groups[0]) + static_cast<size_t>(node.groups[1]);
}

}  // namespace

NodeId Moves::maker_of(int space) const {
  const NodeId maker = graph_.maker_of(space);
  return maker >= 0 && moves_streams(graph_.node(maker)) ? maker : -1;
}

/// The space that the maker of `space` made it out of; -1: that is not known.
int Moves::space_before(NodeId maker, int space) const {
  const Node& node = graph_.node(maker);
  for (size_t port = 0; port < node.outputs.size(); ++port) {
    if (graph_.space_of(node.outputs[port]) != space) continue;
    const int before = graph_.space_of(passed_on(node, port));
    return before < space ? before : -1;
  }
  return -1;
}

bool Moves::is_outer(NodeId drop, int space) const {
  const Node& node = graph_.node(drop);
  return node.kind == NodeKind::drop && graph_.space_of(node.outputs[0]) == space;
}

NodeId Moves::drop_like(StreamId outer, StreamId inner) const {
  for (NodeId id = 0; id < graph_.nodes(); ++id) {
    const Node& node = graph_.node(id);
    if (node.kind != NodeKind::drop || !moves_streams(node)) continue;
    const auto space = [&](size_t input) { return graph_.space_of(node.inputs[input].stream); };
    if (space(0) == graph_.space_of(outer) && space(inner_input(node)) == graph_.space_of(inner)) {
      return id;
    }
  }
  return -1;
}

StreamId Moves::dropped(NodeId drop, StreamId stream) {
  const Node& node = graph_.node(drop);
  const int space = graph_.space_of(stream);
  const bool outer = graph_.space_of(node.inputs[0].stream) == space;
  return through(drop, stream, space, graph_.space_of(node.outputs[outer ? 0 : inner_input(node)]));
}

StreamId Moves::aligned(StreamId to, StreamId from, StreamId stream, int space) {
  const NodeId node =
      graph_.add(make_node(NodeKind::align, {Input{to, 0}, Input{from, 0}, Input{stream, 0}}));
  return graph_.give(node, graph_.kind_of(stream), space, "");
}

StreamId Moves::through(NodeId maker, StreamId stream, int from, int to) {
  const Node& node = graph_.node(maker);
  for (size_t port = 0; port < node.outputs.size(); ++port) {
    const bool same = graph_.space_of(node.outputs[port]) == to;
    if (same && passed_on(node, port) == stream) return node.outputs[port];
  }
  if (node.kind == NodeKind::align) {
    return aligned(node.inputs[0].stream, node.inputs[1].stream, stream, to);
  }
  const bool inner = node.kind == NodeKind::drop && graph_.space_of(node.inputs[0].stream) != from;
  return graph_.add_passed(maker, inner ? 1 : 0, stream, to);
}

StreamId Moves::into(StreamId stream, int to) {
  if (graph_.space_of(stream) == to) return stream;
  const NodeId maker = maker_of(to);
  if (maker < 0) return -1;
  const int from = space_before(maker, to);
  if (from < 0) return -1;
  const StreamId before = into(stream, from);
  return before < 0 ? -1 : through(maker, before, from, to);
}

StreamId Moves::into_if_possible(StreamId stream, int to) {
  const StreamId moved = into(stream, to);
  return moved < 0 ? stream : moved;
}

/// A drop moves its inner elements to other fibers: the space that they were in first.
int Moves::elements_of(int space) const {
  for (;;) {
    const NodeId maker = maker_of(space);
    if (maker < 0 || graph_.node(maker).kind != NodeKind::drop || is_outer(maker, space)) {
      return space;
    }
    const int before = space_before(maker, space);
    if (before < 0) return space;
    space = before;
  }
}

StreamId Moves::below(StreamId above, StreamId below) {
  const int kept = graph_.space_of(above);
  const int around = graph_.parent_of(graph_.space_of(below));
  if (around == kept || graph_.space_of(below) == GraphAssembler::kRootSpace) return below;
  const NodeId drop = maker_of(kept);
  if (drop >= 0 && is_outer(drop, kept)) {
    const Node& node = graph_.node(drop);
    const int fibers = graph_.space_of(node.outputs[inner_input(node)]);
    if (const StreamId moved = into(below, fibers); moved >= 0) return moved;
  }
  if (elements_of(around) == elements_of(kept)) return below;
  const bool one_loop = kept != GraphAssembler::kRootSpace &&
                        around != GraphAssembler::kRootSpace &&
                        graph_.parent_of(kept) == graph_.parent_of(around);
  const StreamId from = graph_.stream_in(around);
  if (!one_loop || from < 0 || graph_.kind_of(from) != StreamKind::crd) return below;
  graph_.unify(graph_.loop_of(kept), graph_.loop_of(around));
  return aligned(above, from, below, graph_.open(kept, graph_.loop_of(graph_.space_of(below))));
}

}  // namespace fuseflow
