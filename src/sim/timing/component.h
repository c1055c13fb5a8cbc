// Times of nodes that hold each other up, through bounded FIFOs or a memory that they share: their
// steps are kept, and replayed as far as tokens, credits and memory's answers are known. A node is
// worked without regard to the times; so nodes that are not members get its tokens when these are
// known (boundary.h).
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "sim/functional/node.h"
#include "sim/timing/boundary.h"
#include "sim/timing/replay.h"
#include "support/stop.h"

namespace fuseflow::engine {

/// A memory, and how far the phases that share it have got.
struct SharedMemory {
  std::unique_ptr<Memory> memory;
  int64_t horizon = 0;  ///< what was requested before it is served
  int64_t last_answer = -1;
};

class Component : public NodeClock {
 public:
  using Ports = std::vector<std::unique_ptr<Port>>;
  /// Members of a phase that starts at `start`, in graph order; `ports` of all nodes, by node and
  /// input; `timings` by NodeId. All outlive the component. Null `memory`: accesses take no time.
  Component(const Graph& graph, const Machine& machine, const std::vector<UnitTiming>& timings,
            SharedMemory* memory, const std::vector<EngineNode*>& members,
            const std::vector<Ports>& ports, int64_t start);

  /// Streams so many bursts into the scratchpad, through one port; returns the time at which all
  /// are there. Only for a component without members.
  int64_t load(int64_t bursts);
  /// Notes what the members do over time; before the first step.
  void note_activity(RunResult& result);
  /// Finds out which streams block their producers; before the first step.
  void charge_streams();

  void time_batch(EngineNode& node) override;
  int64_t untimed(const EngineNode& node) const override;
  std::span<const EngineNode* const> also_gave() const override { return gave_; }

  /// Gives all tokens with known times to nodes outside, of batches that are not wholly known, too;
  /// whether there were any. Called only when no member can go on.
  bool give_parts();
  bool finished() const;    ///< the phase's members have ended, and done all their steps
  int64_t reached() const;  ///< latest step or answer so far, + 1
  /// Bytes of the host's memory that the kept times take, about. May be asked by any thread.
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  void fill(const EngineNode& node, NodeStats& stats) const override;
  /// What streams held at most, and for how long they held up their producers.
  void fill_streams(std::vector<StreamStats>& streams);

 private:
  /// A node's replay, or one side of a node that reads memory (EngineNode::sides).
  struct Side {
    EngineNode* node;
    StepSource* steps;
    bool counted;  // the node's busy and blocked cycles are its
    NodeReplay replay;
    bool asks = false;               // requests bursts
    std::vector<size_t> wakes = {};  // sides that may go on when this one has
  };

  /// Bursts that a node requests, and where.
  struct Feed {
    std::vector<uint64_t>* bursts;
    MemoryPort* port;
  };

  /// A node, and what is between it and those outside.
  struct Member {
    EngineNode* node = nullptr;
    size_t first_side = 0;
    size_t end_side = 0;
    std::vector<Feed> feeds;
    std::unique_ptr<HeldTokens> held;  // null: no node outside takes its tokens
    std::vector<OutputTimes*>
        rows;  // of a load, by gate: rows of an earlier phase; null: of this one
    OutputTimes* events = nullptr;  // of a writer: when rows are complete, for later phases
  };

  static constexpr size_t kNobody = SIZE_MAX;
  static constexpr int64_t kMostAhead = 512;  // cycles

  // component_connect.cpp
  OutputTimes* gives_of(StreamId stream) const;
  Fifo& add_fifo(OutputTimes& gives, int64_t depth, int64_t latency);
  Fifo& add_own_fifo(int64_t depth);
  Fifo* add_memory_fifo(bool write, bool in_batches = false);
  void share_gives(const EngineNode& node);
  std::vector<Fifo*> connect_inputs(const EngineNode& node, const Ports& ports);
  Fifo& connect_input(const Input& input, Port& port);
  void add_sides(Member& member, const Ports& ports, int64_t start);
  std::vector<Fifo*> between_stores(NodeReplay& replay);
  std::vector<Fifo*> between_memory_sides(Member& member, size_t side, NodeReplay& replay);
  void connect_last(Member& member, NodeReplay& replay);
  void connect_outputs(const EngineNode& node, NodeReplay& replay);
  void add_row_fifo(Member& member, NodeId writer, NodeReplay& replay);
  void add_feeds(Member& member, NodeReplay& replay);
  void hold_tokens(Member& member);
  void find_neighbours();
  void settle_gives();
  // component.cpp
  static void take_tokens(EngineNode& node);
  static void give_rows(Member& member);
  static void request_bursts(Member& member);
  void give_held();
  void count_bytes();
  void advance();
  void fetch(size_t s);
  void set_due(size_t s);
  bool sweep();
  size_t next_woken(size_t s) const;
  /// The side may be able to go on.
  void wake(size_t s) {
    if (!sides_[s].replay.may_go_on()) return;
    const int64_t possible = sides_[s].replay.possible_at();
    if (possible < horizon_) {
      woken_[s] = 1;
    } else {
      due_[s] = possible;
    }
  }
  /// Times that are known are final, so a side may go on beyond the horizon with them; not too far,
  /// so that what waits stays in the host's caches.
  int64_t farthest() const { return memory_ == nullptr ? kNever : horizon_ + kMostAhead; }
  // component_window.cpp
  int64_t first_due() const;
  bool unanswered() const;
  int64_t quiet_until(int64_t due) const;
  int64_t given_from(const OutputTimes& gives) const {
    return gives.giver == kNobody ? 0 : steps_from_[gives.giver];
  }
  int64_t lacks_until(const NodeReplay& replay) const;
  int64_t steps_from(size_t s) const;
  int64_t next_request();
  bool next_window(int64_t due);

  const Graph& graph_;
  const Machine& machine_;
  const std::vector<UnitTiming>& timings_;
  SharedMemory* const memory_;
  // What is connected to what; nothing is added after the constructor.
  std::deque<OutputTimes> gives_;
  std::deque<Fifo> fifos_;
  std::deque<ArrivalFeed> arrival_feeds_;
  std::map<StreamId, OutputTimes*> outputs_of_;       // of connected streams that members give
  std::map<StreamId, std::vector<Fifo*>> consumers_;  // of all that members take
  std::map<NodeId, NodeReplay*> writers_;
  std::deque<MemoryPort> memory_ports_;
  std::vector<Fifo*> burst_fifos_;  // by memory port
  std::vector<size_t> waiters_;     // by memory port: the side that waits for its answers
  std::vector<Member> members_;
  std::vector<size_t> givers_;         // members that hold tokens
  std::vector<Side> sides_;            // where they are: others point to them
  std::deque<StepCounting> counting_;  // by side
  // How far the steps are.
  StepSolver solver_;
  std::vector<char> woken_;   // by side: something has come that it may go on with
  std::vector<int64_t> due_;  // by side: the time from which on it has something to do (its next
                              // step; or unknown ones), kNever if it waits for others
  std::vector<int64_t> steps_from_;  // by side: its next step is not before; for next_request()
  int64_t horizon_ = kNever;
  PeriodicStopCheck stop_;
  int64_t settled_ = 0;  // the horizon up to which all steps are done
  std::vector<MemoryAnswer> answers_;
  std::vector<const EngineNode*> gave_;
  uint64_t solved_ = 0;  // batches
  std::atomic<int64_t> bytes_ = 0;
};

}  // namespace fuseflow::engine
