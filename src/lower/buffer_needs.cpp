// Where reconverging paths need buffers.
//
// Within one iteration of the outer L loops, an input a of a node may have to wait for another
// input b that comes only after a reduction has consumed the whole iteration (b is *full* at L of
// every node that the reduction needs). If a then blocks one of those nodes (a is *live* at L of
// it: there is a path without such a buffer or reduction), neither can go on: a gets a buffer. The
// same happens in a ring of several waits. Selections (intersect, filter, drop) may be silent until
// their fiber ends, which matters where they meet other streams of their source.
#include "lower/buffer_needs.h"

#include <algorithm>
#include <limits>

#include "lower/node_set.h"
#include "lower/reach.h"
#include "nodes/rule.h"

namespace fuseflow {

namespace {

/// What is known of a stream; each list is indexed by L.
struct Flow {
  NodeSet needs;                ///< all nodes that it comes from
  std::vector<NodeSet> live;    ///< L < depth
  std::vector<NodeSet> full;    ///< L <= depth
  std::vector<NodeSet> silent;  ///< L <= depth
};

struct Waiting {
  NodeId node = -1;
  size_t input = 0;
  int loops = 0;
  NodeSet live;
  NodeSet full;
};

/// An input of a node: what holds up the node in an iteration of fewer loops than these holds up
/// who is live in the stream, too.
struct TakenInput {
  NodeId node = -1;
  StreamId stream = -1;
  size_t loops = 0;
};

/// The nodes of one phase, [first, last).
class PhaseBuffers {
 public:
  PhaseBuffers(const Graph& graph, NodeId first, NodeId last)
      : graph_(graph), first_(first), last_(last), flow_(graph.streams.size()) {}

  void run(BufferNeeds& needs) {
    for (NodeId n = first_; n < last_; ++n) {
      for (const StreamId s : graph_.nodes[n].outputs) {
        max_depth_ = std::max(max_depth_, depth(s));
        first_stream_ = std::min(first_stream_, s);
        last_stream_ = std::max(last_stream_, s + 1);
      }
    }
    deeper_.resize(max_depth_ + 1);
    for (NodeId n = first_; n < last_; ++n) visit(n, needs);
    break_rings(needs);
  }

 private:
  size_t depth(StreamId s) const { return graph_.streams[s].indices.size(); }
  size_t bit(NodeId n) const { return static_cast<size_t>(n - first_); }

  void visit(NodeId n, BufferNeeds& needs) {
    const Node& node = graph_.nodes[n];
    if (node.kind == NodeKind::accumulate && node.order > 1) several_depths_.add(bit(n));
    if (node.kind == NodeKind::drop) several_depths_.add(bit(n));
    for (size_t L = 0; L <= max_depth_; ++L) {
      const auto runs = [&](StreamId s) { return depth(s) > L; };
      if (std::any_of(node.outputs.begin(), node.outputs.end(), runs)) deeper_[L].add(bit(n));
    }
    std::vector<size_t> buffered(node.inputs.size(), max_depth_ + 1);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].is_immediate()) continue;
      NodeSet awaited;
      buffered[i] = wait_level(n, i, awaited);
      if (buffered[i] <= max_depth_) add_need(needs, n, i, buffered[i], awaited);
      const auto need = needs.find({n, i});
      if (need != needs.end()) buffered[i] = static_cast<size_t>(need->second.loops);
    }
    for (const StreamId s : node.outputs) flow_[s] = flow_through(n, s, buffered);
  }

  static void add_need(BufferNeeds& needs, NodeId n, size_t input, size_t L,
                       const NodeSet& awaited) {
    const auto loops = static_cast<int>(L);
    BufferNeed& need = needs.try_emplace({n, input}, BufferNeed{loops, {}}).first->second;
    need.loops = std::min(need.loops, loops);
    need.awaited.add(awaited);
  }

  /// The least L at which input `a` of the node must be buffered, and what it waits for; notes
  /// waits that are harmless alone.
  size_t wait_level(NodeId n, size_t a, NodeSet& awaited) {
    const Node& node = graph_.nodes[n];
    const Flow& own = flow_[node.inputs[a].stream];
    for (size_t L = 0; L < own.live.size(); ++L) {
      NodeSet full;
      for (size_t b = 0; b < node.inputs.size(); ++b) {
        if (b == a || node.inputs[b].is_immediate()) continue;
        const Flow& other = flow_[node.inputs[b].stream];
        if (L < other.full.size()) full.add(other.full[L]);
        if (L < other.silent.size() && apart(node, a, b)) full.add(other.silent[L]);
      }
      if (full.empty() || own.live[L].empty()) continue;
      if (own.live[L].meets(full)) {
        awaited = full;
        return L;
      }
      waits_.push_back({n, a, static_cast<int>(L), own.live[L], full});
    }
    return max_depth_ + 1;
  }

  /// Inputs that need not move in step: other groups of a joiner, the coordinates an align goes to.
  static bool apart(const Node& node, size_t a, size_t b) {
    if (node.kind == NodeKind::align) return b == 0;
    return joins(node.kind) && group_of(node, a) != group_of(node, b);
  }

  static size_t group_of(const Node& node, size_t input) {
    size_t group = 0;
    size_t end = static_cast<size_t>(node.groups[0]);
    while (input >= end) end += static_cast<size_t>(node.groups[++group]);
    return group;
  }

  Flow flow_through(NodeId n, StreamId s, const std::vector<size_t>& buffered) const {
    const Node& node = graph_.nodes[n];
    const bool ends = reduces(node.kind);
    const bool selects = node.kind == NodeKind::intersect || node.kind == NodeKind::gallop ||
                         node.kind == NodeKind::filter || node.kind == NodeKind::drop;
    const size_t around = ends ? depth(node.inputs[0].stream) : max_depth_ + 1;
    Flow flow;
    flow.live.resize(depth(s));
    flow.full.resize(depth(s) + 1);
    flow.silent.resize(depth(s) + 1);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].is_immediate()) continue;
      const Flow& in = flow_[node.inputs[i].stream];
      flow.needs.add(in.needs);
      for (size_t L = 0; L < std::min(flow.live.size(), in.live.size()); ++L) {
        // (An accumulator that cannot give holds up the next iteration, of which scans need the
        // first token to end this one.)
        if (L <= around && L < buffered[i]) flow.live[L].add(in.live[L]);
      }
      for (size_t L = 0; L < std::min(flow.full.size(), in.full.size()); ++L) {
        if (L > around) break;
        flow.full[L].add(in.full[L]);
        flow.silent[L].add(in.silent[L]);
        // What a left join finds meets streams of the first group's space that did not wait with
        // it.
        if (node.kind == NodeKind::leftjoin && i > 0) flow.full[L].add(in.silent[L]);
      }
    }
    // (Before the node itself is added: it has only begun when its first token comes.)
    if (node.kind == NodeKind::scan || node.kind == NodeKind::gallop) {
      // The stop of an empty fiber needs the next reference; who gives that one between the
      // elements of inner loops gives it late.
      NodeSet ahead = below(flow.needs, depth(s) - 1);
      ahead.keep(several_depths_);
      flow.silent[depth(s) - 1].add(ahead);
    }
    if (ends) flow.full[around].add(below(flow.needs, around));
    if (selects && depth(s) > 0) flow.silent[depth(s) - 1].add(below(flow.needs, depth(s) - 1));
    flow.needs.add(bit(n));
    for (size_t L = 0; L < flow.live.size(); ++L) flow.live[L].add(bit(n));
    return flow;
  }

  /// Of `nodes`, those that run in more than L loops.
  NodeSet below(NodeSet nodes, size_t L) const {
    nodes.keep(deeper_[L]);
    return nodes;
  }

  /// Waits that are harmless alone, but hold up each other through other nodes.
  void break_rings(BufferNeeds& needs) {
    consumers_ = find_consumers();
    const std::vector<bool> may_be = may_be_held_up(needs);
    for (size_t w = 0; w < waits_.size(); ++w) {
      const Waiting& wait = waits_[w];
      if (!may_be[w] || !is_held_up(wait, needs)) continue;
      add_need(needs, wait.node, wait.input, static_cast<size_t>(wait.loops), wait.full);
    }
  }

  Edges find_consumers() const {
    return Edges(static_cast<size_t>(last_ - first_), [&](const auto& add) {
      for (NodeId n = first_; n < last_; ++n) {
        for (const Input& input : graph_.nodes[n].inputs) {
          if (!input.is_immediate()) add(bit(graph_.streams[input.stream].producer), bit(n));
        }
      }
    });
  }

  /// By wait: false if it is surely not held up, whatever buffers the others get (more of them only
  /// let more through). All waits of a level at once: what follows from what (`follow_up`) is one
  /// graph, so this takes as long as that is large, where asking one by one takes its square.
  std::vector<bool> may_be_held_up(const BufferNeeds& needs) const {
    std::vector<bool> result(waits_.size(), false);
    const std::vector<TakenInput> inputs = taken_inputs(needs);
    for (int L = 0; L <= static_cast<int>(max_depth_); ++L) {
      const auto here = [&](const Waiting& wait) { return wait.loops == L; };
      if (std::none_of(waits_.begin(), waits_.end(), here)) continue;
      const Reach reach(follow_up(static_cast<size_t>(L), inputs), consumers_.nodes());
      for (size_t w = 0; w < waits_.size(); ++w) {
        if (!here(waits_[w])) continue;
        const Node& node = graph_.nodes[waits_[w].node];
        const size_t own = stream_at(node.inputs[waits_[w].input].stream);
        result[w] =
            reach.meets(bit(waits_[w].node), waits_[w].full) || reach.meets(own, waits_[w].full);
      }
    }
    return result;
  }

  size_t starved_at(NodeId n) const { return consumers_.nodes() + bit(n); }
  size_t stream_at(StreamId s) const {
    return 2 * consumers_.nodes() + static_cast<size_t>(s - first_stream_);
  }

  /// Of is_held_up, as a graph: a node that stalls (numbered as in sets of nodes) starves its
  /// consumers and theirs (starved_at); these stall who is live at L in what they take (stream_at).
  Edges follow_up(size_t L, const std::vector<TakenInput>& inputs) const {
    return Edges(stream_at(last_stream_), [&](const auto& add) {
      for (size_t n = 0; n < consumers_.nodes(); ++n) {
        for (const size_t u : consumers_.from(n)) {
          add(n, consumers_.nodes() + u);
          add(consumers_.nodes() + n, consumers_.nodes() + u);
        }
      }
      for (const TakenInput& input : inputs) {
        if (L >= input.loops) continue;
        const size_t taken = stream_at(input.stream);
        add(starved_at(input.node), taken);
        for (const StreamId s : graph_.nodes[input.node].outputs) {
          if (L < flow_[s].live.size()) add(stream_at(s), taken);
        }
      }
      for (NodeId n = first_; n < last_; ++n) {
        for (const StreamId s : graph_.nodes[n].outputs) add(stream_at(s), bit(n));
      }
    });
  }

  /// All inputs, in the order of their nodes.
  std::vector<TakenInput> taken_inputs(const BufferNeeds& needs) const {
    std::vector<TakenInput> taken;
    auto need = needs.lower_bound({first_, 0});
    for (NodeId n = first_; n < last_; ++n) {
      const Node& node = graph_.nodes[n];
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i].is_immediate()) continue;
        const StreamId stream = node.inputs[i].stream;
        size_t loops = flow_[stream].live.size();
        while (need != needs.end() && need->first < std::pair{n, i}) ++need;
        if (need != needs.end() && need->first == std::pair{n, i}) {
          loops = std::min(loops, static_cast<size_t>(need->second.loops));
        }
        taken.push_back({n, stream, loops});
      }
    }
    return taken;
  }

  /// True if what the wait waits for needs a node that makes no progress while the wait lasts: one
  /// that it blocks, or one blocked by a node that gets nothing from those.
  bool is_held_up(const Waiting& wait, const BufferNeeds& needs) const {
    const auto L = static_cast<size_t>(wait.loops);
    std::vector<bool> seen(consumers_.nodes(), false);
    std::vector<bool> starved(consumers_.nodes(), false);
    std::vector<size_t> stalled;
    const auto stall = [&](const NodeSet& nodes) {
      nodes.for_each([&](size_t node) {
        if (!seen[node]) stalled.push_back(node);
        seen[node] = true;
      });
      return nodes.meets(wait.full);
    };
    stall(wait.live);
    if (!seen[bit(wait.node)]) stalled.push_back(bit(wait.node));
    while (!stalled.empty()) {
      std::vector<size_t> silent{stalled.back()};
      stalled.pop_back();
      while (!silent.empty()) {
        const size_t from = silent.back();
        silent.pop_back();
        for (const size_t next : consumers_.from(from)) {
          if (starved[next]) continue;
          starved[next] = true;
          silent.push_back(next);
          const NodeId u = first_ + static_cast<NodeId>(next);
          const Node& node = graph_.nodes[u];
          for (size_t q = 0; q < node.inputs.size(); ++q) {
            if (node.inputs[q].is_immediate()) continue;
            const Flow& flow = flow_[node.inputs[q].stream];
            const auto need = needs.find({u, q});
            const bool buffered = need != needs.end() && need->second.loops <= wait.loops;
            if (L < flow.live.size() && !buffered && stall(flow.live[L])) return true;
          }
        }
      }
    }
    return false;
  }

  const Graph& graph_;
  const NodeId first_;
  const NodeId last_;
  std::vector<Flow> flow_;
  size_t max_depth_ = 0;
  StreamId first_stream_ = std::numeric_limits<StreamId>::max();  ///< of the phase's nodes
  StreamId last_stream_ = 0;                                      ///< behind them
  std::vector<NodeSet> deeper_;  ///< by L: nodes that run in more than L loops
  NodeSet several_depths_;       ///< nodes that give outer and inner streams in step
  std::vector<Waiting> waits_;
  Edges consumers_{0, [](const auto&) {}};  ///< by node, counted from the first
};

}  // namespace

BufferNeeds find_buffer_needs(const Graph& graph, const BufferNeeds& given) {
  BufferNeeds needs = given;
  const std::vector<NodeId> first = first_of_phases(graph);
  const auto count = static_cast<NodeId>(graph.nodes.size());
  for (NodeId from = 0, to = 0; from < count; from = to) {
    while (to < count && first[static_cast<size_t>(to)] == from) ++to;
    PhaseBuffers(graph, from, to).run(needs);
  }
  return needs;
}

std::vector<NodeId> first_of_phases(const Graph& graph) {
  std::vector<NodeId> first;
  for (const Node& node : graph.nodes) {
    const auto here = static_cast<NodeId>(first.size());
    const bool begins = here == 0 || graph.nodes[static_cast<size_t>(here) - 1].phase != node.phase;
    first.push_back(begins ? here : first.back());
  }
  return first;
}

}  // namespace fuseflow
