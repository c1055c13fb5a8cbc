#include "lower/stream_waits.h"

#include <algorithm>

#include "nodes/rule.h"

namespace fuseflow {

namespace {

class PhaseWaits {
 public:
  PhaseWaits(const Graph& graph, const PhaseNodes& phase, StreamWaits& waits)
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
    NodeSet all;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].is_immediate()) continue;
      all.add(needs[node.inputs[i].stream]);
      take(node, i, around, s);
    }
    // (Before the node itself is added: it has only begun when its first token comes.)
    if (kind.looks_ahead) {
      // The stop of an empty fiber needs the next reference; who gives that one between the
      // elements of inner loops gives it late.
      NodeSet ahead = below(all, inner);
      ahead.keep(several_depths_);
      waits_.silent.at(s, inner).add(ahead);
      if (!ahead.empty()) waits_.selections.at(s, inner).add(phase_.bit(n));
    }
    if (around != kNoReduction) waits_.full.at(s, around).add(below(all, around));
    if (kind.selects && depth(s) > 0) {
      waits_.silent.at(s, inner).add(below(all, inner));
      waits_.selections.at(s, inner).add(phase_.bit(n));
    }
    all.add(phase_.bit(n));
    return all;
  }

  /// What output `s` of a node waits for as its input does.
  void take(const Node& node, size_t input, size_t around, StreamId s) {
    const StreamId from = node.inputs[input].stream;
    for (size_t L = 0; L <= std::min({depth(s), depth(from), around}); ++L) {
      waits_.full.at(s, L).add(waits_.full.at(from, L));
      waits_.silent.at(s, L).add(waits_.silent.at(from, L));
      waits_.selections.at(s, L).add(waits_.selections.at(from, L));
      // What a left join finds meets streams of the first group's space that did not wait with it.
      if (joins_in_first_space(node.kind) && input > 0) {
        waits_.full.at(s, L).add(waits_.silent.at(from, L));
      }
    }
  }

  /// Those of `nodes` that run in more than L loops.
  NodeSet below(NodeSet nodes, size_t L) const {
    nodes.keep(deeper_[L]);
    return nodes;
  }

  const Graph& graph_;
  const PhaseNodes phase_;
  StreamWaits& waits_;
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

NodesByLevel::NodesByLevel(const Graph& graph) {
  first_.reserve(graph.streams.size() + 1);
  first_.push_back(0);
  for (const Stream& stream : graph.streams) {
    first_.push_back(first_.back() + stream.indices.size() + 1);
  }
  sets_.resize(first_.back());
}

StreamWaits stream_waits(const Graph& graph, const std::vector<PhaseNodes>& phases) {
  StreamWaits waits{NodesByLevel(graph), NodesByLevel(graph), NodesByLevel(graph)};
  std::vector<NodeSet> needs(graph.streams.size());
  for (const PhaseNodes& phase : phases) PhaseWaits(graph, phase, waits).run(needs);
  return waits;
}

size_t loops_around_reduction(const Graph& graph, const Node& node) {
  if (!reduces(node.kind)) return kNoReduction;
  return graph.streams[node.inputs[0].stream].indices.size();
}

}  // namespace fuseflow
