#include "lower/stream_waits.h"

#include <algorithm>

#include "nodes/rule.h"

namespace fuseflow {

namespace {

class PhaseWaits {
 public:
  PhaseWaits(const Graph& graph, const PhaseNodes& phase, std::vector<StreamWaits>& waits)
      : graph_(graph), phase_(phase), waits_(waits) {
    for (NodeId n = phase.first; n < phase.last; ++n) note_depths(n);
  }

  /// `needs`: by stream, all nodes that it comes from.
  void run(std::vector<NodeSet>& needs) {
    for (NodeId n = phase_.first; n < phase_.last; ++n) {
      for (const StreamId s : graph_.nodes[n].outputs) needs[s] = flow_through(n, s, needs);
    }
  }

 private:
  size_t depth(StreamId s) const { return graph_.streams[s].indices.size(); }

  void note_depths(NodeId n) {
    const Node& node = graph_.nodes[n];
    size_t deepest = 0;
    size_t shallowest = SIZE_MAX;
    for (const StreamId s : node.outputs) {
      deepest = std::max(deepest, depth(s));
      shallowest = std::min(shallowest, depth(s));
    }
    if (shallowest < deepest) several_depths_.add(phase_.bit(n));
    if (deeper_.size() <= deepest) deeper_.resize(deepest + 1);
    for (size_t L = 0; L < deepest; ++L) deeper_[L].add(phase_.bit(n));
  }

  /// What a stream waits for; returns what it needs.
  NodeSet flow_through(NodeId n, StreamId s, const std::vector<NodeSet>& needs) {
    const Node& node = graph_.nodes[n];
    const NodeWaits& kind = node_rule(node.kind).waits;
    const size_t around = loops_around_reduction(graph_, node);
    const size_t inner = depth(s) - 1;  // of no use where the stream has no loops
    StreamWaits& flow = waits_[s];
    flow.full.resize(depth(s) + 1);
    flow.silent.resize(depth(s) + 1);
    flow.selections.resize(depth(s) + 1);
    NodeSet all;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].is_immediate()) continue;
      all.add(needs[node.inputs[i].stream]);
      take(node, i, around, flow);
    }
    // (Before the node itself is added: it has only begun when its first token comes.)
    if (kind.looks_ahead) {
      // The stop of an empty fiber needs the next reference; who gives that one between the
      // elements of inner loops gives it late.
      NodeSet ahead = below(all, inner);
      ahead.keep(several_depths_);
      flow.silent[inner].add(ahead);
      if (!ahead.empty()) flow.selections[inner].add(phase_.bit(n));
    }
    if (around != kNoReduction) flow.full[around].add(below(all, around));
    if (kind.selects && depth(s) > 0) {
      flow.silent[inner].add(below(all, inner));
      flow.selections[inner].add(phase_.bit(n));
    }
    all.add(phase_.bit(n));
    return all;
  }

  /// What the output of a node waits for as its input does.
  void take(const Node& node, size_t input, size_t around, StreamWaits& flow) const {
    const StreamWaits& in = waits_[node.inputs[input].stream];
    for (size_t L = 0; L < std::min(flow.full.size(), in.full.size()) && L <= around; ++L) {
      flow.full[L].add(in.full[L]);
      flow.silent[L].add(in.silent[L]);
      flow.selections[L].add(in.selections[L]);
      // What a left join finds meets streams of the first group's space that did not wait with it.
      if (joins_in_first_space(node.kind) && input > 0) flow.full[L].add(in.silent[L]);
    }
  }

  /// Those of `nodes` that run in more than L loops.
  NodeSet below(NodeSet nodes, size_t L) const {
    nodes.keep(deeper_[L]);
    return nodes;
  }

  const Graph& graph_;
  const PhaseNodes phase_;
  std::vector<StreamWaits>& waits_;
  std::vector<NodeSet> deeper_;  ///< by L: nodes that run in more than L loops
  NodeSet several_depths_;       ///< nodes that give outer and inner streams in step
};

}  // namespace

std::vector<PhaseNodes> phases_of(const Graph& graph) {
  std::vector<PhaseNodes> phases(static_cast<size_t>(graph.phases()));
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const auto node = static_cast<NodeId>(n);
    PhaseNodes& phase = phases[static_cast<size_t>(graph.nodes[n].phase)];
    if (phase.last == 0) phase.first = node;
    phase.last = node + 1;
  }
  return phases;
}

std::vector<StreamWaits> stream_waits(const Graph& graph, const std::vector<PhaseNodes>& phases) {
  std::vector<StreamWaits> waits(graph.streams.size());
  std::vector<NodeSet> needs(graph.streams.size());
  for (const PhaseNodes& phase : phases) PhaseWaits(graph, phase, waits).run(needs);
  return waits;
}

size_t loops_around_reduction(const Graph& graph, const Node& node) {
  if (!reduces(node.kind)) return kNoReduction;
  return graph.streams[node.inputs[0].stream].indices.size();
}

}  // namespace fuseflow
