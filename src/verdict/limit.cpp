#include "verdict/limit.h"

#include <algorithm>

#include "nodes/rule.h"
#include "verdict/waits.h"

namespace fuseflow {
namespace {

// Shares of the cycles from which on something is what limits.
constexpr double kMostly = 0.6;    ///< a node in steps; bytes of all that memory can move
constexpr double kWaiting = 0.3;   ///< a node for memory, a producer for room
constexpr double kNoted = 0.1;     ///< a full stream beside a memory that answers late
constexpr double kOnePhase = 0.9;  ///< of the region: the other phases do not matter

/// Phases that start together, and what is found in them.
struct Span {
  int first = 0;
  int last = 0;
  double end = 0;  ///< cycles after which it has ended
  double cycles = 0;
  NodeId busiest = -1;
  NodeId waiting = -1;  ///< that waits for memory for longest
  double busy = 0;
  double memory = 0;
};

class Finder {
 public:
  Finder(const Graph& graph, const Machine& machine, const RegionFigures& figures)
      : graph_(graph), machine_(machine), figures_(figures) {}

  std::optional<Limit> find() {
    if (graph_.nodes.empty() || figures_.cycles <= 0) return std::nullopt;
    find_spans();
    Limit limit;
    limit.phases = static_cast<int>(spans_.size());
    for (const Span& span : spans_) limit.least_cycles += span.busy;
    const Span& slowest =
        *std::max_element(spans_.begin(), spans_.end(),
                          [](const Span& a, const Span& b) { return a.cycles < b.cycles; });
    limit.least_node = slowest.busiest;
    if (rate() > 0 && figures_.memory_bytes / rate() > limit.least_cycles) {
      limit.least_cycles = figures_.memory_bytes / rate();
      limit.least_node = -1;
    }
    limit.phase_share = slowest.cycles / figures_.cycles;
    if (limit.phase_share < kOnePhase) limit.phase = slowest.last;
    judge(slowest, limit);
    return limit;
  }

 private:
  /// Bytes a cycle that memory can move; 0: it takes no time.
  double rate() const {
    return graph_.tiles ? machine_.global_bytes_per_cycle() : machine_.dram_bytes_per_cycle();
  }

  void find_spans() {
    for (int p = 0; p < graph_.phases();) {
      Span span;
      span.first = p;
      span.last = graph_.last_started_with(p);
      p = span.last + 1;
      spans_.push_back(span);
    }
    for (size_t n = 0; n < std::min(graph_.nodes.size(), figures_.nodes.size()); ++n) {
      const NodeFigures& node = figures_.nodes[n];
      if (!node.known) continue;
      const int phase = graph_.nodes[n].phase;
      Span& span = *std::find_if(spans_.begin(), spans_.end(),
                                 [&](const Span& s) { return phase <= s.last; });
      const auto id = static_cast<NodeId>(n);
      if (span.busiest < 0 || node.busy > span.busy) span.busiest = id, span.busy = node.busy;
      if (node.memory > span.memory) span.waiting = id, span.memory = node.memory;
      span.end = std::max(span.end, node.last_step + 1);
    }
    // What no step tells (an estimate has no times) is shared out by the work of the busiest nodes.
    const bool timed = figures_.waits_known;
    double busy = 0;
    for (const Span& span : spans_) busy += span.busy;
    spans_.back().end = figures_.cycles;
    double before = 0;
    for (Span& span : spans_) {
      span.cycles = timed || busy == 0 ? std::max(0.0, span.end - before)
                                       : figures_.cycles * span.busy / busy;
      before = std::max(before, span.end);
    }
  }

  double blocked(StreamId stream) const {
    return stream < 0 ? 0 : figures_.stream_blocked[static_cast<size_t>(stream)];
  }

  void judge(const Span& span, Limit& limit) const {
    const double cycles = std::max(1.0, span.cycles);
    const double moved = rate() > 0 ? figures_.memory_bytes / rate() / figures_.cycles : 0;
    const double busy = span.busy / cycles;
    const double memory = span.memory / cycles;
    StreamId full = memory >= kWaiting ? stream_before(graph_, figures_, span.waiting) : -1;
    if (full < 0) full = holding_stream(graph_, figures_, span.first, span.last);
    limit.stream_share = std::min(1.0, blocked(full) / cycles);
    if (limit.stream_share >= kNoted) limit.stream = full;
    limit.bytes_share = std::min(1.0, moved);
    limit.node = span.busiest;
    limit.share = std::min(1.0, busy);
    if (moved >= kMostly && moved >= busy) {
      limit.kind = LimitKind::bandwidth;
      limit.share = limit.bytes_share;
    } else if (busy >= kMostly) {
      const bool writes = writes_tensor(graph_.nodes[static_cast<size_t>(span.busiest)].kind);
      limit.kind = writes ? LimitKind::writer : LimitKind::compute;
    } else if (memory >= kWaiting) {
      limit.kind = LimitKind::latency;
      limit.node = span.waiting;
      limit.share = std::min(1.0, memory);
    } else if (limit.stream_share >= kWaiting) {
      limit.kind = LimitKind::fifo;
      limit.node = graph_.streams[static_cast<size_t>(full)].producer;
      limit.share = limit.stream_share;
    }
  }

  const Graph& graph_;
  const Machine& machine_;
  const RegionFigures& figures_;
  std::vector<Span> spans_;
};

}  // namespace

std::optional<Limit> find_limit(const Graph& graph, const Machine& machine,
                                const RegionFigures& figures) {
  return Finder(graph, machine, figures).find();
}

}  // namespace fuseflow
