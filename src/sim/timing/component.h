// Times of nodes that hold each other up, through bounded FIFOs or a memory that they share: their
// steps are kept, and replayed as far as tokens, credits and memory's answers are known. A node is
// worked without regard to the times; so nodes that are not members get its tokens when these are
// known (boundary.h).
#pragma once

#include <atomic>
#include <bit>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "sim/functional/node.h"
#include "sim/timing/boundary.h"
#include "sim/timing/replay.h"

namespace fuseflow::engine {

/// Some of the sides, visited in order.
class SideSet {
 public:
  static constexpr size_t kEnd = SIZE_MAX;
  void clear(size_t sides) { words_.assign(sides / 64 + 1, 0); }
  void add(size_t s) { words_[s / 64] |= uint64_t{1} << s % 64; }
  /// Takes out the first one from `s` on; kEnd if there is none.
  size_t take(size_t s) {
    uint64_t here = words_[s / 64] >> s % 64 << s % 64;
    for (size_t w = s / 64; here == 0;) {
      if (++w == words_.size()) return kEnd;
      s = w * 64;
      here = words_[w];
    }
    words_[s / 64] &= ~(here & -here);
    return s / 64 * 64 + static_cast<size_t>(std::countr_zero(here));
  }

 private:
  std::vector<uint64_t> words_;
};

class Component : public NodeClock {
 public:
  /// All outlive it. `timings` are by NodeId; memory may be null: it takes no time.
  Component(const Graph& graph, const Machine& machine, const std::vector<UnitTiming>& timings,
            std::unique_ptr<Memory> memory);

  /// Streams so many bytes for each tensor into the scratchpad; gives the time at which all are
  /// there.
  int64_t load(const std::vector<int64_t>& bytes);
  /// Calls seen(request) for every burst that is served (Memory::watch).
  void watch_memory(std::function<void(const MemoryRequest&)> seen) {
    memory_->watch(std::move(seen));
  }
  /// Members of a phase that starts at `start`, in graph order; `ports` of all nodes, by node and
  /// input. They live until the next phase.
  void start_phase(const std::vector<EngineNode*>& members,
                   const std::vector<std::vector<std::unique_ptr<Port>>>& ports, int64_t start);
  /// Of the phase's members, by NodeId; before its first step.
  void note_activity(std::vector<Activity>& activity, std::vector<Activity>& stalls);

  void time_batch(EngineNode& node) override;
  int64_t untimed(const EngineNode& node) const override;
  std::span<const EngineNode* const> also_gave() const override { return gave_; }

  /// Gives outside all that is known, though it be parts of batches; whether there was any. When no
  /// member can go on.
  bool give_parts();
  bool finished() const;    ///< the phase's members have ended, and done all their steps
  int64_t reached() const;  ///< latest step or answer so far, + 1
  /// Of the host's memory: times that are kept, about. May be asked by any thread.
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  void fill(const EngineNode& node, NodeStats& stats) const override;
  void fill_peaks(std::vector<StreamStats>& streams);
  MemoryStats memory_stats() const { return memory_->stats(); }

 private:
  /// A node's replay, or one side of a node that reads memory (EngineNode::sides).
  struct Side {
    EngineNode* node = nullptr;
    StepSource* steps = nullptr;
    std::vector<uint64_t>* bursts = nullptr;  // requested by this side
    MemoryPort* port = nullptr;
    std::unique_ptr<NodeReplay> replay;
    bool last = true;
    bool counted = true;        // the node's busy and blocked cycles are its
    std::vector<size_t> tells;  // sides that may go on when this one has
  };

  /// A node, and what is between it and those outside.
  struct Member {
    EngineNode* node = nullptr;
    size_t first_side = 0;
    size_t end_side = 0;
    std::unique_ptr<HeldTokens> held;  // null: no node outside takes its tokens
    std::vector<Gives*> rows;  // of a load, by gate: rows of an earlier phase; null: of this one
    Gives* events = nullptr;   // of a writer: when rows are complete, for later phases
  };

  static constexpr size_t kNobody = SIZE_MAX;
  static constexpr int64_t kMostAhead = 512;  // cycles

  using Ports = std::vector<std::unique_ptr<Port>>;
  void connect_streams(const std::vector<EngineNode*>& members, const std::vector<Ports>& ports);
  void connect_inputs(const EngineNode& node, const Ports& ports);
  Fifo& connect_input(const Input& input, Port& port);
  void share_gives(const EngineNode& node);
  Fifo& add_fifo(Gives& gives, int64_t depth, int64_t latency);
  void add_sides(EngineNode& node, int64_t start);
  void add_feeds(EngineNode& node);
  void add_row_fifo(NodeId writer, NodeReplay& replay);
  void connect_outputs(const EngineNode& node, NodeReplay& replay);
  Fifo* add_memory_fifo(bool write, bool in_batches = false);
  void hold_tokens(Member& member);
  void find_neighbours();
  void settle_gives();
  static void take_tokens(EngineNode& node);
  static void give_rows(Member& member);
  void give_held();
  void count_bytes();
  void advance();
  void fetch(size_t s);
  void note(size_t s);
  bool sweep();
  int64_t quiet_until(int64_t due) const;
  bool next_window(int64_t due);
  bool unanswered() const;
  int64_t first_due() const;
  void tell(size_t s) {
    if (!sides_[s].replay->may_go_on()) return;
    const int64_t possible = sides_[s].replay->possible_at();
    if (possible < horizon_) {
      told_.add(s);
    } else {
      due_[s] = possible;
    }
  }
  /// Times that are known are final, so a side may go on beyond the horizon with them; not too far,
  /// so that what waits stays in the host's caches.
  int64_t farthest() const {
    if (!memory_) return kNever;
    return horizon_ + kMostAhead;
  }

  const Graph& graph_;
  const Machine& machine_;
  const std::vector<UnitTiming>& timings_;
  std::deque<Gives> gives_;
  std::deque<Fifo> fifos_;
  std::deque<ArrivalFeed> feeds_;
  // By input of each node; null: immediate, or like another one.
  std::map<NodeId, std::vector<Fifo*>> inputs_;
  std::map<StreamId, Gives*> outputs_of_;             // of connected streams that members give
  std::map<StreamId, std::vector<Fifo*>> consumers_;  // of all that members take
  std::vector<Member> members_;                       // of this phase
  std::vector<size_t> givers_;                        // those that hold tokens
  std::vector<const EngineNode*> gave_;
  std::vector<Side> sides_;
  StepSolver solver_;
  // By side: whether something has come that it may go on with, and the time from which on it has
  // something to do (its next step; or unknown ones), kNever if it waits for others.
  SideSet told_;
  std::vector<int64_t> due_;
  std::map<NodeId, NodeReplay*> writers_;  // of this phase
  std::deque<MemoryPort> memory_ports_;
  std::vector<Fifo*> burst_fifos_;  // by memory port
  std::vector<size_t> waiters_;     // by memory port: the side that waits for its answers
  std::unique_ptr<Memory> memory_;
  std::vector<MemoryAnswer> answers_;
  int64_t horizon_ = kNever;
  int64_t settled_ = 0;  // the horizon up to which all steps are done
  int64_t last_answer_ = -1;
  uint64_t solved_ = 0;  // batches
  std::atomic<int64_t> bytes_ = 0;
};

}  // namespace fuseflow::engine
