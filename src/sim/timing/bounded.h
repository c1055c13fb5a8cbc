// Times of a run with bounded FIFOs or with memory: makes the replay of every node, and advances
// them all, and memory window by window, until some node's steps have to be worked out first.
#pragma once

#include <bit>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "sim/functional/node.h"
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

class Bounded {
 public:
  enum class State : uint8_t {
    wants_steps,  ///< some node's steps are not known
    still,        ///< nothing can go on any more: everything has ended, or waits in a cycle
    stopped       ///< go_on said no
  };

  /// All outlive it. `timings` are by NodeId.
  Bounded(const Graph& graph, const Machine& machine, const std::vector<UnitTiming>& timings,
          const std::vector<Output>& outputs,
          const std::vector<std::vector<std::unique_ptr<Port>>>& ports);

  /// Streams so many bytes for each tensor into the scratchpad; gives the time at which all are
  /// there.
  int64_t load(const std::vector<int64_t>& bytes);
  /// Calls seen(request) for every burst that is served (Memory::watch).
  void watch_memory(std::function<void(const MemoryRequest&)> seen) {
    if (memory_) memory_->watch(std::move(seen));
  }
  /// Nodes of a phase, which start at `start`. They live until the next phase.
  void start_phase(const std::vector<std::unique_ptr<EngineNode>>& nodes, int64_t start);
  /// Of the phase's nodes, by NodeId; before its first step.
  void note_activity(std::vector<Activity>& activity, std::vector<Activity>& stalls);
  State advance(const std::function<bool()>& go_on);
  /// The last node in graph order whose steps are not known far ahead; else the one with the
  /// fewest waiting tokens.
  /// A node that is `most_waiting` tokens ahead of a consumer comes last, one that is `stuck` not
  /// at all.
  EngineNode* next_to_log(const std::function<bool(const EngineNode&)>& stuck,
                          int64_t most_waiting) const;
  bool finished() const;
  int64_t bytes() const;    ///< of the host's memory: times that are kept
  int64_t reached() const;  ///< latest step or answer so far, + 1
  void fill(NodeId node, NodeStats& stats) const;
  void fill_peaks(std::vector<StreamStats>& streams);
  MemoryStats memory_stats() const { return memory_ ? memory_->stats() : MemoryStats{}; }

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
    bool free = false;          // no time of memory reaches it
    bool asks = false;          // gives to memory: requests bursts
    std::vector<size_t> tells;  // sides that may go on when this one has
  };

  static constexpr int64_t kNever = INT64_MAX;
  static constexpr size_t kNobody = SIZE_MAX;
  static constexpr int64_t kMostAhead = 512;       // cycles
  static constexpr int64_t kMostFreeAhead = 2048;  // of sides that memory does not reach

  int64_t depth_of(size_t stream) const;
  void connect_streams(const std::vector<std::vector<std::unique_ptr<Port>>>& ports);
  void share_gives(const Node& node);
  Fifo& add_fifo(Gives& gives, int64_t depth, int64_t latency);
  void add_sides(EngineNode& node, int64_t start);
  void add_feeds(EngineNode& node);
  void add_row_fifo(const EngineNode& load, NodeReplay& replay);
  void connect_outputs(const EngineNode& node, NodeReplay& replay);
  Fifo* add_memory_fifo(bool write, bool in_batches = false);
  void find_neighbours();
  void find_free();
  void fetch(size_t s);
  void note(size_t s);
  bool sweep();
  int64_t answered_from(const Fifo& fifo, int64_t number) const;
  int64_t lacking_from(const Fifo& fifo, bool credit, int64_t number) const;
  int64_t steps_from(size_t s) const;
  int64_t next_request();
  void reach_next_request();
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
  int64_t horizon_of(const Side& side) const {
    if (!memory_) return INT64_MAX;
    return horizon_ + (side.free ? kMostFreeAhead : kMostAhead);
  }

  const Graph& graph_;
  const Machine& machine_;
  const std::vector<UnitTiming>& timings_;
  const std::vector<Output>& outputs_;
  std::deque<Gives> gives_;
  std::deque<Fifo> fifos_;
  std::vector<std::vector<Fifo*>>
      inputs_;                      // by node and input; null: immediate, or like another one
  std::vector<Gives*> outputs_of_;  // by stream; null: not connected
  std::vector<std::vector<Fifo*>> consumers_;  // by stream
  std::vector<Side> sides_;
  StepSolver solver_;
  // By side: whether something has come that it may go on with, and the time from which on it has
  // something to do (its next step; or unknown ones), INT64_MAX if it waits for others.
  SideSet told_;
  std::vector<int64_t> due_;
  std::vector<int64_t> gives_from_;  // by side: no token or burst is given before, as far as known
  std::map<NodeId, NodeReplay*> writers_;  // of this phase
  std::deque<MemoryPort> memory_ports_;
  std::vector<Fifo*> burst_fifos_;  // by memory port
  std::vector<size_t> waiters_;     // by memory port: the side that waits for its answers
  std::unique_ptr<Memory> memory_;
  std::vector<MemoryAnswer> answers_;
  int64_t horizon_ = INT64_MAX;
  int64_t settled_ = 0;  // the horizon up to which all steps are done
  int64_t last_answer_ = -1;
};

}  // namespace fuseflow::engine
