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

/// Phases that start together, and what is found in them; or the time before, without a node.
struct Span {
  int first = 0;
  int last = -1;
  double end = 0;  ///< cycles after which it has ended
  double cycles = 0;
  double moved = 0;  ///< cycles that memory takes at least for what is moved meanwhile
  NodeId busiest = -1;
  NodeId waiting = -1;  ///< that waits for memory for longest
  double busy = 0;
  double memory = 0;

  double least() const { return std::max(busy, moved); }
};

class Finder {
 public:
  Finder(const Graph& graph, const Machine& machine, const RegionFigures& figures)
      : graph_(graph), machine_(machine), figures_(figures) {}

  std::optional<Limit> find() {
    if (graph_.nodes.empty() || figures_.cycles <= 0) return std::nullopt;
    find_spans();
    share_out_memory();
    const Span& slowest =
        *std::max_element(spans_.begin(), spans_.end(),
                          [](const Span& a, const Span& b) { return a.cycles < b.cycles; });
    Limit limit;
    limit.phases = static_cast<int>(spans_.size());
    limit.least_cycles = loading_.least();
    for (const Span& span : spans_) limit.least_cycles += span.least();
    limit.least_cycles = std::min(limit.least_cycles, figures_.cycles);
    limit.least_node = slowest.moved > slowest.busy ? -1 : slowest.busiest;
    limit.phase_share = slowest.cycles / figures_.cycles;
    limit.loading_share = loading_.cycles / figures_.cycles;
    if (limit.loading_share < kNoted) limit.loading_share = 0;
    if (loading_.cycles > slowest.cycles) {
      limit.kind = LimitKind::loading;
      limit.share = limit.loading_share;
      limit.bytes_share = std::min(1.0, loading_.moved / loading_.cycles);
      return limit;
    }
    if (limit.phases > 1 && limit.phase_share < kOnePhase) limit.phase = slowest.last;
    judge(slowest, limit);
    return limit;
  }

 private:
  void find_spans() {
    for (int p = 0; p < graph_.phases();) {
      Span span;
      span.first = p;
      span.last = graph_.last_started_with(p);
      p = span.last + 1;
      spans_.push_back(span);
    }
    double start = figures_.cycles;
    for (size_t n = 0; n < std::min(graph_.nodes.size(), figures_.nodes.size()); ++n) {
      const NodeFigures& node = figures_.nodes[n];
      if (!node.known) continue;
      Span& span = span_of(n);
      const auto id = static_cast<NodeId>(n);
      if (span.busiest < 0 || node.busy > span.busy) span.busiest = id, span.busy = node.busy;
      if (node.memory > span.memory) span.waiting = id, span.memory = node.memory;
      span.end = std::max(span.end, node.last_step + 1);
      if (node.first_step >= 0) start = std::min(start, node.first_step);
    }
    if (!graph_.scratchpad.empty() && start < figures_.cycles) loading_.cycles = start;
    set_cycles();
  }

  Span& span_of(size_t node) {
    const int phase = graph_.nodes[node].phase;
    return *std::find_if(spans_.begin(), spans_.end(),
                         [&](const Span& span) { return phase <= span.last; });
  }

  /// What no step tells (an estimate has no times) is shared out by the work of the busiest nodes.
  void set_cycles() {
    const bool timed = figures_.waits_known;
    double busy = 0;
    for (const Span& span : spans_) busy += span.busy;
    spans_.back().end = figures_.cycles;
    double before = loading_.cycles;
    const double all = figures_.cycles - before;
    for (Span& span : spans_) {
      span.cycles = timed || busy == 0 ? std::max(0.0, span.end - before) : all * span.busy / busy;
      before = std::max(before, span.end);
    }
  }

  /// What memory takes for the region's bursts, by the bytes of tensors that each span moves. What
  /// no node moves is loaded.
  void share_out_memory() {
    const double rate = machine_.memory_bytes_per_cycle(graph_.tiles.has_value());
    if (rate <= 0) return;
    const auto burst = static_cast<double>(machine_.dram.burst_bytes);
    double of_nodes = 0;
    for (size_t n = 0; n < std::min(graph_.nodes.size(), figures_.nodes.size()); ++n) {
      if (graph_.on_chip(graph_.nodes[n].tensor)) continue;
      span_of(n).moved += figures_.nodes[n].tensor_bytes;
      of_nodes += figures_.nodes[n].tensor_bytes;
    }
    Span& other = loading_.cycles > 0 ? loading_ : spans_.front();
    other.moved += std::max(0.0, figures_.dram_bytes - of_nodes);
    const double bytes = std::max(figures_.dram_bytes, figures_.dram_bursts * burst);
    const double all = std::max(figures_.dram_bytes, of_nodes);
    const double each = all > 0 ? bytes / all / rate : 0;
    loading_.moved *= each;
    for (Span& span : spans_) span.moved *= each;
  }

  double blocked(StreamId stream) const {
    return stream < 0 ? 0 : figures_.stream_blocked[static_cast<size_t>(stream)];
  }

  void judge(const Span& span, Limit& limit) const {
    const double cycles = std::max(1.0, span.cycles);
    const double moved = span.moved / cycles;
    const double busy = span.busy / cycles;
    const double memory = span.memory / cycles;
    StreamId full = memory >= kWaiting ? stream_before(graph_, figures_, span.waiting) : -1;
    if (full < 0) full = holding_stream(graph_, figures_, span.first, span.last);
    limit.stream_share = std::min(1.0, blocked(full) / cycles);
    if (limit.stream_share >= kNoted) limit.stream = full;
    limit.bytes_share = std::min(1.0, moved);
    limit.busiest = limit.node = span.busiest;
    limit.busy_share = limit.share = std::min(1.0, busy);
    if (moved >= kMostly && moved >= busy) {
      limit.kind = LimitKind::bandwidth;
      limit.share = limit.bytes_share;
    } else if (busy >= kMostly) {
      const NodeKind busiest = graph_.nodes[static_cast<size_t>(span.busiest)].kind;
      limit.kind = stores_result(busiest) ? LimitKind::writer
                   : loads_data(busiest)  ? LimitKind::reader
                                          : LimitKind::compute;
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
  Span loading_;
};

}  // namespace

std::optional<Limit> find_limit(const Graph& graph, const Machine& machine,
                                const RegionFigures& figures) {
  return Finder(graph, machine, figures).find();
}

}  // namespace fuseflow
