// Where reconverging paths need buffers, and how large.
//
// Within one iteration of the outer L loops, an input a of a node may have to wait for another
// input b that comes only after a reduction has consumed the whole iteration (b is *full* at L of
// every node that the reduction needs). If a then blocks one of those nodes (a is *live* at L of
// it: there is a path without such a buffer or reduction), neither can go on: a gets a buffer for
// one iteration. The same happens in a ring of several waits. Selections (intersect, filter, drop)
// may be silent until their fiber ends, which matters where they meet other streams of their
// source.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "lower/finish.h"
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

using Needs =
    std::map<std::pair<NodeId, size_t>, int>;  ///< (node, input) -> loops around the buffer

/// The nodes of one phase, [first, last).
class PhaseBuffers {
 public:
  PhaseBuffers(const Graph& graph, NodeId first, NodeId last)
      : graph_(graph), first_(first), last_(last), flow_(graph.streams.size()) {}

  void run(Needs& needs) {
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

  void visit(NodeId n, Needs& needs) {
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
      buffered[i] = wait_level(n, i);
      if (buffered[i] <= max_depth_) needs[{n, i}] = static_cast<int>(buffered[i]);
    }
    for (const StreamId s : node.outputs) flow_[s] = flow_through(n, s, buffered);
  }

  /// The least L at which input `a` of the node must be buffered; notes waits that are harmless
  /// alone.
  size_t wait_level(NodeId n, size_t a) {
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
      if (own.live[L].meets(full)) return L;
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
  void break_rings(Needs& needs) {
    find_consumers();
    const std::vector<bool> may_be = may_be_held_up(needs);
    for (size_t w = 0; w < waits_.size(); ++w) {
      const Waiting& wait = waits_[w];
      if (!may_be[w] || !is_held_up(wait, needs)) continue;
      const auto [need, fresh] = needs.emplace(std::pair(wait.node, wait.input), wait.loops);
      if (!fresh) need->second = std::min(need->second, wait.loops);
    }
  }

  void find_consumers() {
    consumers_.resize(static_cast<size_t>(last_ - first_));
    for (NodeId n = first_; n < last_; ++n) {
      for (const Input& input : graph_.nodes[n].inputs) {
        if (input.is_immediate()) continue;
        consumers_[bit(graph_.streams[input.stream].producer)].push_back(n);
      }
    }
  }

  /// By wait: false if it is surely not held up, whatever buffers the others get (more of them only
  /// let more through). All waits of a level at once: what follows from what (`follow_up`) is one
  /// graph, so this takes as long as that is large, where asking one by one takes its square.
  std::vector<bool> may_be_held_up(const Needs& needs) const {
    std::vector<bool> result(waits_.size(), false);
    for (int L = 0; L <= static_cast<int>(max_depth_); ++L) {
      const auto here = [&](const Waiting& wait) { return wait.loops == L; };
      if (std::none_of(waits_.begin(), waits_.end(), here)) continue;
      const Reach reach(follow_up(static_cast<size_t>(L), needs), consumers_.size());
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

  size_t starved_at(NodeId n) const { return consumers_.size() + bit(n); }
  size_t stream_at(StreamId s) const {
    return 2 * consumers_.size() + static_cast<size_t>(s - first_stream_);
  }

  /// Of is_held_up, as a graph: a node that stalls (numbered as in sets of nodes) starves its
  /// consumers and theirs (starved_at); these stall who is live at L in what they take (stream_at).
  std::vector<std::vector<size_t>> follow_up(size_t L, const Needs& needs) const {
    std::vector<std::vector<size_t>> next(stream_at(last_stream_));
    const auto passes = [&](NodeId n, size_t input) {
      const Input& in = graph_.nodes[n].inputs[input];
      const auto need = needs.find({n, input});
      const bool buffered = need != needs.end() && need->second <= static_cast<int>(L);
      return !in.is_immediate() && !buffered && L < flow_[in.stream].live.size();
    };
    for (NodeId n = first_; n < last_; ++n) {
      const Node& node = graph_.nodes[n];
      for (const NodeId u : consumers_[bit(n)]) {
        next[bit(n)].push_back(starved_at(u));
        next[starved_at(n)].push_back(starved_at(u));
      }
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!passes(n, i)) continue;
        const size_t taken = stream_at(node.inputs[i].stream);
        next[starved_at(n)].push_back(taken);
        for (const StreamId s : node.outputs) {
          if (L < flow_[s].live.size()) next[stream_at(s)].push_back(taken);
        }
      }
      for (const StreamId s : node.outputs) next[stream_at(s)].push_back(bit(n));
    }
    return next;
  }

  /// True if what the wait waits for needs a node that makes no progress while the wait lasts: one
  /// that it blocks, or one blocked by a node that gets nothing from those.
  bool is_held_up(const Waiting& wait, const Needs& needs) const {
    const auto L = static_cast<size_t>(wait.loops);
    std::vector<bool> seen(consumers_.size(), false);
    std::vector<bool> starved(consumers_.size(), false);
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
        for (const NodeId u : consumers_[from]) {
          if (starved[bit(u)]) continue;
          starved[bit(u)] = true;
          silent.push_back(bit(u));
          const Node& node = graph_.nodes[u];
          for (size_t q = 0; q < node.inputs.size(); ++q) {
            if (node.inputs[q].is_immediate()) continue;
            const Flow& flow = flow_[node.inputs[q].stream];
            const auto need = needs.find({u, q});
            const bool buffered = need != needs.end() && need->second <= wait.loops;
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
  std::vector<std::vector<NodeId>> consumers_;
};

Needs find_needs(const Graph& graph) {
  Needs needs;
  NodeId first = 0;
  const auto count = static_cast<NodeId>(graph.nodes.size());
  while (first < count) {
    NodeId last = first;
    while (last < count && graph.nodes[last].phase == graph.nodes[first].phase) ++last;
    PhaseBuffers(graph, first, last).run(needs);
    first = last;
  }
  return needs;
}

/// Two iterations: while the second half of a row's work still reads one (a residual), the next
/// one comes in, so that rows overlap. One would do to end at all.
int64_t buffer_capacity(const Graph& graph, StreamId stream, int loops) {
  return (loops > 0 ? 2 : 1) * tokens_below(graph, stream, loops);
}

}  // namespace

int64_t tokens_below(const Graph& graph, StreamId stream, int loops) {
  const auto& indices = graph.streams[stream].indices;
  const int64_t limit = std::numeric_limits<int64_t>::max() / 4;
  int64_t elements = 1;
  int64_t tokens = 2;
  for (size_t i = static_cast<size_t>(loops); i < indices.size(); ++i) {
    const int64_t extent = std::max<int64_t>(graph.indices[indices[i]].extent, 1);
    tokens = std::min(limit, tokens + elements);
    elements = elements > limit / extent ? limit : elements * extent;
  }
  return std::min(limit, tokens + elements);
}

void insert_buffers(Graph& graph, std::vector<size_t>& tags) {
  const Needs needs = find_needs(graph);
  if (needs.empty()) return;
  Graph result;
  result.indices = graph.indices;
  result.scratchpad = graph.scratchpad;
  result.row_phases = graph.row_phases;
  result.streams = graph.streams;
  std::vector<size_t> new_tags;
  std::map<std::pair<StreamId, int64_t>, StreamId> buffered;
  for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n) {
    Node node = std::move(graph.nodes[n]);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const auto need = needs.find({n, i});
      if (need == needs.end()) continue;
      const StreamId from = node.inputs[i].stream;
      const int64_t capacity = buffer_capacity(graph, from, need->second);
      const auto [place, is_new] =
          buffered.emplace(std::pair(from, capacity), static_cast<StreamId>(result.streams.size()));
      if (is_new) {
        Stream stream = result.streams[from];
        stream.producer = static_cast<NodeId>(result.nodes.size());
        stream.port = 0;
        result.streams.push_back(stream);
        Node buffer;
        buffer.kind = NodeKind::buffer;
        buffer.inputs = {{from, 0}};
        buffer.outputs = {place->second};
        buffer.capacity = capacity;
        buffer.phase = node.phase;
        result.nodes.push_back(std::move(buffer));
        new_tags.push_back(tags[n]);
      }
      node.inputs[i].stream = place->second;
    }
    for (const StreamId s : node.outputs) {
      result.streams[s].producer = static_cast<NodeId>(result.nodes.size());
    }
    result.nodes.push_back(std::move(node));
    new_tags.push_back(tags[n]);
  }
  graph = std::move(result);
  tags = std::move(new_tags);
}

}  // namespace fuseflow
