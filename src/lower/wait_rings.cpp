#include "lower/wait_rings.h"

#include <algorithm>
#include <limits>

#include "lower/reach.h"
#include "support/parallel_for.h"

namespace fuseflow {

namespace {

/// An input of a node: what holds up the node in an iteration of fewer loops than these holds up
/// who is live in the stream, too.
struct WaitingInput {
  NodeId node = -1;
  StreamId stream = -1;
  size_t loops = 0;
};

class WaitRings {
 public:
  WaitRings(const Graph& graph, const PhaseNodes& phase, const NodesByLevel& live)
      : graph_(graph), phase_(phase), live_(live), consumers_(find_consumers()) {
    for (NodeId n = phase.first; n < phase.last; ++n) {
      for (const StreamId s : graph.nodes[n].outputs) {
        first_stream_ = std::min(first_stream_, s);
        last_stream_ = std::max(last_stream_, s + 1);
      }
    }
  }

  void run(const std::vector<InputWait>& waits, BufferNeeds& needs) const {
    for (const InputWait* wait : may_be_held_up(waits, needs)) {
      if (is_held_up(*wait, needs)) {
        add_need(needs, wait->node, wait->input, wait->loops, wait->full);
      }
    }
  }

 private:
  Edges find_consumers() const {
    return Edges(static_cast<size_t>(phase_.last - phase_.first), [&](const auto& add) {
      for (NodeId n = phase_.first; n < phase_.last; ++n) {
        for (const Input& input : graph_.nodes[n].inputs) {
          if (input.is_immediate()) continue;
          add(phase_.bit(graph_.streams[input.stream].producer), phase_.bit(n));
        }
      }
    });
  }

  /// Without the waits that surely are not held up, whatever buffers the others get (more of them
  /// only let more through). All waits of a level at once: what follows from what (`follow_up`) is
  /// one graph, so this takes as long as that is large, where asking one by one takes its square.
  std::vector<const InputWait*> may_be_held_up(const std::vector<InputWait>& waits,
                                               const BufferNeeds& needs) const {
    std::vector<std::vector<size_t>> by_level;
    std::vector<NodeSet> awaited;  // by level
    for (size_t w = 0; w < waits.size(); ++w) {
      const auto L = static_cast<size_t>(waits[w].loops);
      if (by_level.size() <= L) by_level.resize(L + 1);
      by_level[L].push_back(w);
      awaited.resize(by_level.size());
      awaited[L].add(waits[w].full);
    }
    const std::vector<WaitingInput> inputs = taken_inputs(needs);
    std::vector<char> held_up(waits.size(), 0);  // not of bits: levels are written side by side
    parallel_for(size_t{0}, by_level.size(), [&](size_t L) {
      if (by_level[L].empty()) return;
      const Reach reach(follow_up(L, inputs), awaited[L]);
      for (const size_t w : by_level[L]) {
        const size_t own = stream_at(graph_.nodes[waits[w].node].inputs[waits[w].input].stream);
        const bool node_is = reach.meets(phase_.bit(waits[w].node), waits[w].full);
        held_up[w] = static_cast<char>(node_is || reach.meets(own, waits[w].full));
      }
    });
    std::vector<const InputWait*> result;
    for (size_t w = 0; w < waits.size(); ++w) {
      if (held_up[w] != 0) result.push_back(&waits[w]);
    }
    return result;
  }

  size_t starved_at(NodeId n) const { return consumers_.nodes() + phase_.bit(n); }
  size_t stream_at(StreamId s) const {
    return 2 * consumers_.nodes() + static_cast<size_t>(s - first_stream_);
  }

  /// What is_held_up follows, as a graph: a node that stalls (numbered as in sets of nodes) starves
  /// its consumers and theirs (starved_at); these stall who is live at L in what they take
  /// (stream_at).
  Edges follow_up(size_t L, const std::vector<WaitingInput>& inputs) const {
    return Edges(stream_at(last_stream_), [&](const auto& add) {
      for (size_t n = 0; n < consumers_.nodes(); ++n) {
        for (const size_t u : consumers_.from(n)) {
          add(n, consumers_.nodes() + u);
          add(consumers_.nodes() + n, consumers_.nodes() + u);
        }
      }
      for (const WaitingInput& input : inputs) {
        if (L >= input.loops) continue;
        const size_t taken = stream_at(input.stream);
        add(starved_at(input.node), taken);
        for (const StreamId s : graph_.nodes[input.node].outputs) {
          if (L < live_.depth(s)) add(stream_at(s), taken);
        }
      }
      for (NodeId n = phase_.first; n < phase_.last; ++n) {
        for (const StreamId s : graph_.nodes[n].outputs) add(stream_at(s), phase_.bit(n));
      }
    });
  }

  /// All inputs, in the order of their nodes.
  std::vector<WaitingInput> taken_inputs(const BufferNeeds& needs) const {
    std::vector<WaitingInput> taken;
    auto need = needs.lower_bound({phase_.first, 0});
    for (NodeId n = phase_.first; n < phase_.last; ++n) {
      const Node& node = graph_.nodes[n];
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i].is_immediate()) continue;
        const StreamId stream = node.inputs[i].stream;
        size_t loops = live_.depth(stream);
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
  bool is_held_up(const InputWait& wait, const BufferNeeds& needs) const {
    const auto L = static_cast<size_t>(wait.loops);
    std::vector<bool> seen(consumers_.nodes(), false);
    std::vector<bool> starved(consumers_.nodes(), false);
    std::vector<size_t> stalled;
    NodeSet all;  // that stalled: most sets have nothing else
    const auto stall = [&](const NodeSet& nodes) {
      if (nodes.within(all)) return false;
      all.add(nodes);
      nodes.for_each([&](size_t node) {
        if (!seen[node]) stalled.push_back(node);
        seen[node] = true;
      });
      return nodes.meets(wait.full);
    };
    stall(wait.live);
    if (!seen[phase_.bit(wait.node)]) stalled.push_back(phase_.bit(wait.node));
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
          const NodeId u = phase_.node(next);
          const Node& node = graph_.nodes[u];
          for (size_t q = 0; q < node.inputs.size(); ++q) {
            if (node.inputs[q].is_immediate()) continue;
            const StreamId taken = node.inputs[q].stream;
            if (L >= live_.depth(taken) || live_.at(taken, L).within(all)) continue;
            const auto need = needs.find({u, q});
            const bool buffered = need != needs.end() && need->second.loops <= wait.loops;
            if (!buffered && stall(live_.at(taken, L))) return true;
          }
        }
      }
    }
    return false;
  }

  const Graph& graph_;
  const PhaseNodes phase_;
  const NodesByLevel& live_;
  const Edges consumers_;  ///< by node, counted from the first
  StreamId first_stream_ = std::numeric_limits<StreamId>::max();  ///< of the phase's nodes
  StreamId last_stream_ = 0;                                      ///< after them
};

}  // namespace

void break_rings(const Graph& graph, const PhaseNodes& phase, const NodesByLevel& live,
                 const std::vector<InputWait>& waits, BufferNeeds& needs) {
  if (!waits.empty()) WaitRings(graph, phase, live).run(waits, needs);
}

}  // namespace fuseflow
