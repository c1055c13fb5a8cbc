// Where reconverging paths need buffers.
//
// Within one iteration of the outer L loops, an input a of a node may have to wait for another
// input b that comes only after a reduction has consumed the whole iteration (b is *full* at L of
// every node that the reduction needs). If a then blocks one of those nodes (a is *live* at L of
// it: there is a path without such a buffer or reduction), neither can go on: a gets a buffer. The
// same happens in a ring of several waits. Selections (NodeWaits::selects) may be silent until
// their fiber ends, which matters where they meet streams of their source that do not come through
// them.
#include "lower/buffer_needs.h"

#include <algorithm>
#include <limits>

#include "lower/wait_rings.h"
#include "nodes/rule.h"

namespace fuseflow {

namespace {

constexpr size_t kUnbuffered = std::numeric_limits<size_t>::max();

/// The nodes of one phase.
class PhaseBuffers {
 public:
  PhaseBuffers(const Graph& graph, const PhaseNodes& phase, const StreamWaits& flows,
               NodesByLevel& live)
      : graph_(graph), phase_(phase), flows_(flows), live_(live) {}

  void run(BufferNeeds& needs) {
    for (NodeId n = phase_.first; n < phase_.last; ++n) visit(n, needs);
    break_rings(graph_, phase_, live_, waits_, needs);
  }

 private:
  void visit(NodeId n, BufferNeeds& needs) {
    const Node& node = graph_.nodes[n];
    std::vector<size_t> buffered(node.inputs.size(), kUnbuffered);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].is_immediate()) buffered[i] = buffered_at(n, i, needs);
    }
    for (const StreamId s : node.outputs) {
      for (size_t L = 0; L < live_.depth(s); ++L) live_.at(s, L) = live_through(n, s, L, buffered);
    }
  }

  /// The loops of the buffer that an input has or needs.
  size_t buffered_at(NodeId n, size_t input, BufferNeeds& needs) {
    NodeSet awaited;
    const size_t L = wait_level(n, input, awaited);
    if (L != kUnbuffered) add_need(needs, n, input, static_cast<int>(L), awaited);
    const auto need = needs.find({n, input});
    return need == needs.end() ? kUnbuffered : static_cast<size_t>(need->second.loops);
  }

  /// The least L at which input `a` of the node must be buffered, and what it waits for; notes
  /// waits that are harmless alone.
  size_t wait_level(NodeId n, size_t a, NodeSet& awaited) {
    const Node& node = graph_.nodes[n];
    const NodeWaits& waits = node_rule(node.kind).waits;
    const StreamId own = node.inputs[a].stream;
    for (size_t L = 0; L < live_.depth(own); ++L) {
      NodeSet full;
      for (size_t b = 0; b < node.inputs.size(); ++b) {
        if (b == a || node.inputs[b].is_immediate()) continue;
        const StreamId other = node.inputs[b].stream;
        if (L > flows_.full.depth(other)) continue;
        full.add(flows_.full.at(other, L));
        if (waits.apart(node, a, b) && !silent_with(own, other, L)) {
          full.add(flows_.silent.at(other, L));
        }
      }
      const NodeSet& live = live_.at(own, L);
      if (full.empty() || live.empty()) continue;
      if (live.meets(full)) {
        awaited = full;
        return L;
      }
      waits_.push_back({n, a, static_cast<int>(L), live, full});
    }
    return kUnbuffered;
  }

  /// Whether `own` comes through every selection that `other` comes through: while these keep
  /// nothing, both get nothing.
  bool silent_with(StreamId own, StreamId other, size_t L) const {
    const NodesByLevel& through = flows_.selections;
    return through.at(other, L).within(through.at(own, L));
  }

  /// Who is live at L in an output. Mostly the same as at the level around: the sets are shared
  /// then.
  NodeSet live_through(NodeId n, StreamId s, size_t L, const std::vector<size_t>& buffered) const {
    const Node& node = graph_.nodes[n];
    const size_t around = loops_around_reduction(graph_, node);
    // (An accumulator that cannot give holds up the next iteration, of which scans need the first
    // token to end this one.)
    const auto taken = [&](size_t i, size_t level) -> const NodeSet* {
      if (node.inputs[i].is_immediate() || level > around || level >= buffered[i]) return nullptr;
      const StreamId in = node.inputs[i].stream;
      return level < live_.depth(in) ? &live_.at(in, level) : nullptr;
    };
    const auto as_around = [&](size_t i) {
      const NodeSet* here = taken(i, L);
      const NodeSet* outer = taken(i, L - 1);
      return here == outer || (here != nullptr && outer != nullptr && here->same(*outer));
    };
    size_t i = 0;
    while (L > 0 && i < node.inputs.size() && as_around(i)) ++i;
    if (L > 0 && i == node.inputs.size()) return live_.at(s, L - 1);
    NodeSet live;
    for (i = 0; i < node.inputs.size(); ++i) {
      if (const NodeSet* in = taken(i, L)) live.add(*in);
    }
    live.add(phase_.bit(n));
    return live;
  }

  const Graph& graph_;
  const PhaseNodes phase_;
  const StreamWaits& flows_;
  NodesByLevel& live_;
  std::vector<InputWait> waits_;
};

}  // namespace

void add_need(BufferNeeds& needs, NodeId node, size_t input, int loops, const NodeSet& awaited) {
  BufferNeed& need = needs.try_emplace({node, input}, BufferNeed{loops, {}}).first->second;
  need.loops = std::min(need.loops, loops);
  need.awaited.add(awaited);
}

BufferSearch::BufferSearch(const Graph& graph)
    : graph_(graph), phases_(phases_of(graph)), waits_(stream_waits(graph, phases_)) {}

BufferNeeds BufferSearch::needs(const BufferNeeds& given) const {
  BufferNeeds needs = given;
  NodesByLevel live(graph_);
  for (const PhaseNodes& phase : phases_) PhaseBuffers(graph_, phase, waits_, live).run(needs);
  return needs;
}

}  // namespace fuseflow
