#include "lower/late_starts.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "nodes/rule.h"

namespace fuseflow {

namespace {

/// Tokens of a buffer from which on a late start is worth it. A buffer in front is often shared,
/// and goes on only as all of its consumers do, a few rows at most: where rows are short, less is
/// loaded ahead than from in front of it.
constexpr int64_t kMuch = 1024;

using Wait = std::pair<NodeId, size_t>;  ///< a node and which of its inputs

class LateStarts {
 public:
  LateStarts(const Graph& graph, BufferPlan& plan)
      : graph_(graph),
        plan_(plan),
        held_(planned_buffers(graph, plan)),
        behind_(held_),
        phases_(phases_of(graph)),
        consumers_(graph.streams.size()) {
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      for (size_t i = 0; i < graph.nodes[n].inputs.size(); ++i) {
        const Input& input = graph.nodes[n].inputs[i];
        if (input.is_immediate()) continue;
        consumers_[static_cast<size_t>(input.stream)].push_back({static_cast<NodeId>(n), i});
      }
    }
  }

  /// Whether anything is moved.
  bool run() {
    bool any = false;
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const auto node = static_cast<NodeId>(n);
      if (reduces(graph_.nodes[n].kind)) continue;
      const std::optional<LateStart> move = move_of(node);
      if (!move) continue;
      const std::map<BufferPlace, int64_t> after = held_after(node, *move);
      if (!takes_no_more(after)) continue;
      apply(node, *move, after);
      any = true;
    }
    return any;
  }

 private:
  /// A node works `rows` later: who waits for it no longer than that needs no buffer any more.
  struct LateStart {
    int loops = 0;
    double rows = 0;
    std::vector<Wait> done;  ///< waits that end
    std::vector<Wait> left;  ///< waits that are shorter by so much
    NodeSet awaited;         ///< of `done`
  };

  const Node& node(NodeId n) const { return graph_.nodes[static_cast<size_t>(n)]; }

  double wait_of(const Wait& wait, int loops) const {
    const auto L = static_cast<size_t>(loops);
    const StreamId stream = node(wait.first).inputs[wait.second].stream;
    const NodeId from = graph_.streams[static_cast<size_t>(stream)].producer;
    return plan_.schedule.start(wait.first, L) - plan_.schedule.given(from, L);
  }

  /// The waits of all consumers of a node, if they all do, for rows of the same loops.
  std::vector<Wait> waits_for(NodeId n, int& loops) const {
    std::vector<Wait> waits;
    for (const StreamId s : node(n).outputs) {
      for (const Wait& wait : consumers_[static_cast<size_t>(s)]) {
        const auto need = plan_.needs.find(wait);
        if (need == plan_.needs.end()) return {};
        if (!waits.empty() && need->second.loops != loops) return {};
        loops = need->second.loops;
        waits.push_back(wait);
      }
    }
    return waits;
  }

  /// Whether the buffers after a node are large, unless they only came there by a move.
  bool holds_much(NodeId n, int loops) const {
    BuffersTaken taken;
    for (const StreamId s : node(n).outputs) {
      const BufferPlace place{s, loops};
      if (behind_.contains(place)) taken.add(graph_, place, held(place));
    }
    return taken.count == 0 || taken.tokens > kMuch * taken.count;
  }

  std::optional<LateStart> move_of(NodeId n) const {
    LateStart move;
    const std::vector<Wait> waits = waits_for(n, move.loops);
    if (waits.empty() || !holds_much(n, move.loops)) return std::nullopt;
    move.rows = std::numeric_limits<double>::infinity();
    for (const Wait& wait : waits) move.rows = std::min(move.rows, wait_of(wait, move.loops));
    const size_t bit = phases_[static_cast<size_t>(node(n).phase)].bit(n);
    for (const Wait& wait : waits) {
      constexpr double kRounding = 1e-6;  // of sums of shares
      const NodeSet& awaited = plan_.needs.at(wait).awaited;
      const bool ends = wait_of(wait, move.loops) <= move.rows + kRounding && !awaited.has(bit);
      (ends ? move.done : move.left).push_back(wait);
      if (ends) move.awaited.add(awaited);
    }
    if (move.done.empty() || !may_wait(n, move.loops)) return std::nullopt;
    return move;
  }

  bool is_deep(const Input& input, int loops) const {
    if (input.is_immediate()) return false;
    return static_cast<int>(graph_.streams[static_cast<size_t>(input.stream)].indices.size()) >
           loops;
  }

  /// Whether what a node waits for itself is of the same loops.
  bool may_wait(NodeId n, int loops) const {
    for (size_t i = 0; i < node(n).inputs.size(); ++i) {
      const auto own = plan_.needs.find({n, i});
      if (own != plan_.needs.end() && own->second.loops != loops) return false;
    }
    return true;
  }

  int64_t held(const BufferPlace& place) const {
    const auto found = held_.find(place);
    return found == held_.end() ? 0 : found->second;
  }

  /// Iterations that the buffers at the outputs and inputs of a node hold after a move; 0: none.
  std::map<BufferPlace, int64_t> held_after(NodeId n, const LateStart& move) const {
    std::map<BufferPlace, int64_t> after;
    const auto hold = [&](const Wait& wait, int64_t before, double rows) {
      const BufferPlace place{node(wait.first).inputs[wait.second].stream, move.loops};
      int64_t& most = after.try_emplace(place, before).first->second;
      most = std::max(most, iterations_held(graph_, place, wait_of(wait, move.loops) + rows));
    };
    for (const StreamId s : node(n).outputs) {
      if (!consumers_[static_cast<size_t>(s)].empty()) after[{s, move.loops}] = 0;
    }
    for (const Wait& wait : move.left) hold(wait, 0, -move.rows);
    for (size_t i = 0; i < node(n).inputs.size(); ++i) {
      const Input& input = node(n).inputs[i];
      if (is_deep(input, move.loops)) hold({n, i}, held({input.stream, move.loops}), move.rows);
    }
    return after;
  }

  bool takes_no_more(const std::map<BufferPlace, int64_t>& after) const {
    BuffersTaken before;
    BuffersTaken then;
    for (const auto& [place, iterations] : after) {
      before.add(graph_, place, held(place));
      then.add(graph_, place, iterations);
    }
    return then.within(before);
  }

  void apply(NodeId n, const LateStart& move, const std::map<BufferPlace, int64_t>& after) {
    for (const Wait& wait : move.done) plan_.needs.erase(wait);
    for (size_t i = 0; i < node(n).inputs.size(); ++i) {
      if (!is_deep(node(n).inputs[i], move.loops)) continue;
      BufferNeed& need = plan_.needs.try_emplace({n, i}).first->second;
      need.loops = move.loops;
      need.awaited.add(move.awaited);
    }
    plan_.schedule.delay(n, static_cast<size_t>(move.loops), move.rows);
    for (const auto& [place, iterations] : after) held_[place] = iterations;
  }

  const Graph& graph_;
  BufferPlan& plan_;
  std::map<BufferPlace, int64_t> held_;
  const std::map<BufferPlace, int64_t> behind_;  ///< the same before anything was moved
  std::vector<PhaseNodes> phases_;
  std::vector<std::vector<Wait>> consumers_;  ///< by stream
};

}  // namespace

bool start_late(const Graph& graph, BufferPlan& plan) {
  return LateStarts(graph, plan).run();
}

}  // namespace fuseflow
