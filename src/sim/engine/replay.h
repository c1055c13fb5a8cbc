// Times of steps where FIFOs are bounded: every node's logged steps, with arrivals and credits, as far
// as the tokens and credits are known, node by node in turn. Exact: the equations of ir-spec/timing.md
// have one least solution, whatever the order in which it is worked out.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "sim/engine/steps.h"
#include "sim/memory/dram.h"
#include "sim/run.h"

namespace fuseflow::engine {

/// Where the bursts of a memory FIFO are asked for.
struct MemoryPort {
  Memory* memory = nullptr;
  uint32_t id = 0;
  bool write = false;
  std::deque<uint64_t> addresses;  ///< of the bursts still to be requested, in order
};

/// A FIFO between a producer and one consumer: when its latest tokens were given and taken. With a
/// memory port it is a queue of bursts: giving a token requests a burst, which arrives when memory has
/// answered it and all before it; a write is taken when it is acknowledged. The depth is then the
/// number of bursts that the port may have outstanding.
class Fifo {
 public:
  int64_t latency = 1;
  int64_t depth = 0;  ///< 0: unbounded
  MemoryPort* memory = nullptr;

  explicit Fifo(int64_t fifo_depth = 0) : depth(fifo_depth) {
    size_t size = 64;
    while (static_cast<int64_t>(size) < 2 * depth + 8 && size < kMostReserved) size *= 2;
    resize(size);
  }

  /// Tokens that can be taken, now or at a known later time.
  int64_t held() const { return (memory == nullptr ? given_ : answered_) - taken_; }
  int64_t room() const { return depth == 0 ? INT64_MAX : taken_ + depth - given_; }
  int64_t arrival(int64_t ahead) const {
    const size_t k = at(taken_ + ahead);
    return memory == nullptr ? give_[k] + latency : answer_[k];
  }
  /// The earliest time for the next token but `ahead`.
  int64_t credit(int64_t ahead) const {
    const int64_t index = given_ + ahead - depth;
    return depth == 0 || index < 0 ? INT64_MIN : take_[at(index)] + 1;
  }
  void give(int64_t time) {
    if (given_ + 1 - base() >= static_cast<int64_t>(give_.size())) grow();
    if (memory != nullptr) request(time);
    give_[at(given_++)] = time;
  }
  void answer(int64_t number, int64_t time);
  int64_t unanswered() const { return given_ - answered_; }
  void take(int64_t time) { take_[at(taken_++)] = time; }
  void measure();
  int64_t given() const { return given_; }
  int64_t taken() const { return taken_; }
  int64_t peak() const { return peak_; }

  // For loops over many steps: times by token & mask(), then how many were given or taken.
  size_t mask() const { return mask_; }
  int64_t* gives() { return give_.data(); }
  int64_t* takes() { return take_.data(); }
  int64_t* arrivals() { return memory == nullptr ? give_.data() : answer_.data(); }
  void make_room(int64_t count) {
    while (given_ + count - base() >= static_cast<int64_t>(give_.size())) {
      measure();
      if (given_ + count - base() >= static_cast<int64_t>(give_.size())) resize(give_.size() * 2);
    }
  }
  void give_many(int64_t count) { given_ += count; }
  void take_many(int64_t count) { taken_ += count; }

 private:
  static constexpr size_t kMostReserved = size_t{1} << 16;
  size_t at(int64_t index) const { return static_cast<size_t>(index) & mask_; }
  /// The oldest token of which a time is still asked for.
  int64_t base() const {
    int64_t oldest = released_ < taken_ ? released_ : taken_;
    if (measured_ < oldest) oldest = measured_;
    if (depth > 0 && given_ - depth < oldest) oldest = given_ - depth;
    return oldest < 0 ? 0 : oldest;
  }
  void grow();
  void resize(size_t size);
  void request(int64_t time);

  std::vector<int64_t> give_;
  std::vector<int64_t> take_;
  std::vector<int64_t> answer_;  // memory only: -1 while not answered
  int64_t answered_ = 0;         // all before are
  size_t mask_ = 0;
  int64_t given_ = 0;
  int64_t taken_ = 0;
  int64_t measured_ = 0;  // gives judged for the peak
  int64_t released_ = 0;  // takes before the give being judged
  int64_t peak_ = 0;
};

/// The timing side of one node.
class NodeReplay {
 public:
  std::vector<Fifo*> inputs;                ///< by input; null for an immediate
  std::vector<std::vector<Fifo*>> outputs;  ///< by output: one FIFO a consumer
  std::vector<std::vector<TokenRecord>*> records;  ///< by output: where times are to be kept, or null

  Activity* activity = nullptr;  ///< where to note busy cycles, if anywhere

  explicit NodeReplay(int64_t start) : free_at_(start) {}
  void fetch(StepLog& log);
  /// Does as many steps before `horizon` as tokens and credits allow; whether there were any.
  bool advance(int64_t horizon = INT64_MAX);
  /// Whether the next step is only kept back by the horizon.
  bool waits_for_horizon() const { return beyond_; }
  bool idle() const { return run_ == runs_.size(); }  ///< no steps are known
  size_t backlog() const { return runs_.size() - run_; }
  int64_t last_step() const { return last_; }
  /// Overwrites what depends on times.
  void fill(NodeStats& stats) const;

 private:
  int64_t possible(const StepType& type, int64_t most) const;
  bool step(const StepType& type, int64_t horizon);
  bool simple(const StepType& type) const;
  int64_t steps(const StepType& type, int64_t n, int64_t horizon);

  std::vector<StepType> types_;
  std::vector<StepRun> runs_;
  size_t run_ = 0;
  int64_t free_at_;
  int64_t first_ = -1;
  int64_t last_ = -1;
  int64_t busy_ = 0;
  int64_t blocked_ = 0;
  int64_t steps_ = 0;
  bool beyond_ = false;
};

}  // namespace fuseflow::engine
