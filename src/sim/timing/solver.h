// Times of a graph's steps. A node that only its producers delay has a clock of its own, which
// gives times to a batch as soon as it is there and keeps nothing (batch_clock.h). Nodes that can
// hold each other up are a component, whose steps are kept and replayed (component.h); holding.h
// says which. Beside it: what FIFOs hold at most.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sim/functional/node.h"
#include "sim/timing/batch_clock.h"
#include "sim/timing/component.h"

namespace fuseflow::engine {

/// The ports of all nodes, by node and input; null for immediates.
using NodePorts = std::vector<std::vector<std::unique_ptr<Port>>>;

class Solver {
 public:
  /// All outlive it. `timings` are by NodeId.
  Solver(const Graph& graph, const Machine& machine, const std::vector<UnitTiming>& timings,
         NodePorts& ports);
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  /// Gives a phase's nodes, which start at `start`, their clocks. They live until the next phase.
  void start_phase(const std::vector<std::unique_ptr<EngineNode>>& nodes, int64_t start);
  /// Starts a phase of nodes whose times and peaks are not asked for: nothing is bounded.
  void start_untimed(const std::vector<std::unique_ptr<EngineNode>>& nodes);
  /// Notes what the phase's nodes do over time; before its first step.
  void note_activity(RunResult& result);
  /// Finds out which of the phase's streams block their producers; before its first step.
  void charge_streams();

  /// Null if memory takes no time.
  Memory* memory() { return memory_.memory.get(); }
  /// Streams so many bursts into the scratchpad, before the first phase; gives the time at which
  /// all are there.
  int64_t load(int64_t bursts);
  /// When no node can go on: gives what components still hold back but know the times of, if there
  /// is any.
  bool give_parts();
  /// Whether the phase's components have done all their steps.
  bool finished() const;
  /// Latest step so far, + 1.
  int64_t reached() const;
  /// Bytes of the host's memory that the kept times take, about. May be asked by any thread.
  int64_t bytes() const;

  /// The most tokens that the phase's streams held, and for how long they held up their producers.
  void fill_streams(std::vector<StreamStats>& streams);

 private:
  class PortWatch;
  void add_clock(EngineNode& node, int64_t start);
  void watch_inputs(const EngineNode& node);

  const Graph& graph_;
  const Machine& machine_;
  const std::vector<UnitTiming>& timings_;
  NodePorts& ports_;
  std::vector<std::unique_ptr<PortWatch>> watches_;
  std::vector<std::unique_ptr<BatchClock>> clocks_;  // by node; null: a member, or another phase's
  SharedMemory memory_;
  std::vector<std::unique_ptr<Component>> components_;               // of this phase
  const std::vector<std::unique_ptr<EngineNode>>* nodes_ = nullptr;  // of this phase
};

}  // namespace fuseflow::engine
