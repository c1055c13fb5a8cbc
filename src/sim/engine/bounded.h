// Times of a run with bounded FIFOs or with memory: makes the replay of every node, and advances them all,
// and memory window by window, until some node's steps have to be worked out first.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "sim/engine/node.h"
#include "sim/engine/replay.h"
#include "sim/engine/schedule.h"

namespace fuseflow::engine {

class Bounded {
 public:
  enum class State : uint8_t {
    wants_steps,  ///< some node's steps are not known
    still,        ///< nothing can go on any more: everything has ended, or waits in a cycle
    stopped       ///< go_on said no
  };

  Bounded(const Graph& graph, const Machine& machine, const std::vector<Output>& outputs,
          const std::vector<std::vector<std::unique_ptr<Port>>>& ports);

  /// Streams so many bytes for each tensor into the scratchpad; gives the time at which all are there.
  int64_t load(const std::vector<int64_t>& bytes);
  /// Nodes of a phase, which start at `start`. They live until the next phase.
  void start_phase(const std::vector<std::unique_ptr<EngineNode>>& nodes, int64_t start);
  /// Of the phase's nodes, by NodeId; before its first step.
  void note_activity(std::vector<Activity>& activity);
  State advance(const std::function<bool()>& go_on);
  /// The last node in graph order whose steps are not known far ahead; else the least far ahead.
  EngineNode* next_to_log(const Schedule& schedule) const;
  bool finished() const;
  int64_t reached() const;  ///< latest step or answer so far, + 1
  void fill(NodeId node, NodeStats& stats) const;
  void fill_peaks(std::vector<StreamStats>& streams) const;
  MemoryStats memory_stats() const { return memory_ ? memory_->stats() : MemoryStats{}; }

 private:
  /// A node's replay, or one side of a node that reads memory (EngineNode::before).
  struct Side {
    EngineNode* node = nullptr;
    StepLog* log = nullptr;
    std::vector<uint64_t>* bursts = nullptr;  // requested by this side
    MemoryPort* port = nullptr;
    std::unique_ptr<NodeReplay> replay;
    bool last = true;
  };

  int64_t depth_of(size_t stream) const;
  void add_sides(EngineNode& node, int64_t start);
  void add_row_fifo(const EngineNode& load, NodeReplay& replay);
  void connect_outputs(const EngineNode& node, NodeReplay& replay);
  Fifo* add_memory_fifo(bool write);
  void fetch(Side& side);
  bool sweep(bool& idle);
  bool next_window();
  void answer();

  const Graph& graph_;
  const Machine& machine_;
  const std::vector<Output>& outputs_;
  std::vector<std::vector<std::unique_ptr<Fifo>>> fifos_;  // by node and input
  std::vector<std::vector<Fifo*>> consumers_;              // by stream
  std::vector<Side> sides_;
  std::deque<Fifo> extra_;          // between sides, of bursts, and of rows
  std::map<NodeId, NodeReplay*> writers_;  // of this phase
  std::deque<MemoryPort> memory_ports_;
  std::vector<Fifo*> burst_fifos_;  // by memory port
  std::unique_ptr<Memory> memory_;
  std::vector<MemoryAnswer> answers_;
  int64_t horizon_ = INT64_MAX;
  int64_t last_answer_ = -1;
};

}  // namespace fuseflow::engine
