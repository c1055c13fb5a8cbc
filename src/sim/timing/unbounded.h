// Times of a run in which nothing is bounded but buffers, and memory takes no time: each node has a
// clock that gives times to a batch as soon as it is there. Beside it: what FIFOs hold at most, and
// bounded buffers. For all others: bounded.h.
#pragma once

#include <memory>
#include <vector>

#include "sim/functional/node.h"
#include "sim/timing/batch_clock.h"
#include "sim/timing/port_watch.h"

namespace fuseflow::engine {

/// The ports of all nodes, by node and input; null for immediates.
using NodePorts = std::vector<std::vector<std::unique_ptr<Port>>>;

class Unbounded {
 public:
  Unbounded(const Graph& graph, const Machine& machine, std::vector<Output>& outputs,
            NodePorts& ports);

  /// Watches ports and makes the bounded buffers. Those that `strict` names (by node) give nothing
  /// before its credit is known; the bounds of the others are taken to delay nobody else.
  void connect(const std::vector<bool>& strict);
  /// Gives a phase's nodes their clocks. They live until the next phase.
  void start_phase(const std::vector<std::unique_ptr<EngineNode>>& nodes, int64_t start);
  /// Of the phase's nodes, by NodeId; before its first step.
  void note_activity(std::vector<Activity>& activity, std::vector<Activity>& stalls);

  /// Whether some token of a bounded buffer came too late: the times of this run are wrong.
  bool some_too_late() const;
  /// Adds those buffers to `strict`.
  void collect_too_late(std::vector<bool>& strict) const;
  /// Whether some buffer gives nothing before its credit is known.
  bool any_strict() const;

  /// The counts of a phase's node that depend on bounds.
  void fill(NodeId node, NodeStats& stats) const;
  void fill_peaks(std::vector<StreamStats>& streams) const;
  /// How often a time of the phase's nodes was worked out.
  int64_t operations() const;

 private:
  void watch_inputs(size_t n);
  void connect_buffer(size_t n, bool strict);

  const Graph& graph_;
  const Machine& machine_;
  std::vector<Output>& outputs_;
  NodePorts& ports_;
  std::vector<std::vector<std::unique_ptr<PortWatch>>> watches_;  // by node and input
  std::vector<std::unique_ptr<BufferModel>> buffers_;             // by node; null: no such buffer
  std::vector<std::unique_ptr<Credits>> credits_;                 // the same, of strict ones
  std::vector<std::unique_ptr<BatchClock>> clocks_;               // by node; null: another phase's
};

}  // namespace fuseflow::engine
