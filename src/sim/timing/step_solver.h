// The recurrence of a node's next steps, with arrivals and credits: port by port over many steps,
// so that only the maxima depend on each other. replay.h knows what is around it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/common/activity.h"
#include "sim/timing/fifo.h"
#include "sim/timing/step_bounds.h"
#include "sim/timing/step_line.h"
#include "sim/timing/step_queue.h"

namespace fuseflow::engine {

/// Why no more steps were done.
enum class StepEnd : uint8_t {
  none,   ///< all that were asked for are done
  waits,  ///< a token or a credit is not known
  beyond  ///< the next one is not before the horizon
};

/// What the steps of a node meet.
struct StepPorts {
  struct InputPort {
    Fifo* fifo;
    size_t lane;
  };
  struct OutputPort {
    OutputTimes* gives;
    size_t lane;
  };
  std::vector<InputPort> in;
  std::vector<OutputPort> out;
  std::vector<InputPort> credits;  ///< consumers whose room an output has to wait for, by its lane
};

/// What is found out of the steps of a side beside their times.
struct StepCounting {
  bool counted = true;   ///< what they wait for: of a node with several sides one is counted
  bool charged = false;  ///< for which of the credits
  // Where to note over time what the node does (--trace); all null: nowhere.
  Activity* busy = nullptr;
  Activity* blocked = nullptr;
  Activity* memory = nullptr;
};
inline constexpr StepCounting kCountWaits{};

/// What a step waits for: tokens, or room for some, of a FIFO.
struct StepBlocker {
  const Fifo* fifo = nullptr;
  size_t lane = 0;
  bool credit = false;
};

struct StepProgress {
  int64_t free_at = 0;
  int64_t first = -1;
  int64_t last = -1;
  int64_t steps = 0;
  int64_t blocked = 0;
  int64_t memory = 0;
  int64_t busy = 0;
  int64_t next = 0;  ///< time of the step that is not before the horizon
};

/// Room for one batch of steps; used for one node after the other.
class StepSolver {
 public:
  /// Does up to n of the queue's next steps, all of one batch, as far as they are before the
  /// horizon; how many.
  int64_t run(StepQueue& queue, const StepPorts& ports, int64_t n, int64_t horizon,
              StepProgress& progress, const StepCounting& counting);
  StepEnd end() const { return end_; }
  /// If it waits: the first thing that the next step lacks.
  const StepBlocker& blocker() const { return blocker_; }

 private:
  /// Tokens first .. end-1 of an output, those that may have to wait for credits.
  struct CreditRange {
    int64_t first = 0;
    int64_t end = 0;
    bool any() const { return first < end; }
  };

  bool cut(int64_t k, StepEnd why);
  /// Step `step` of the batch as a number in this run, and back.
  int64_t in_run(uint32_t step) const { return static_cast<int64_t>(step) - first_; }
  uint32_t step_at(int64_t k) const { return static_cast<uint32_t>(first_ + k); }
  /// Step k cannot be before, whatever it waits for.
  int64_t earliest(int64_t k) const { return p_->free_at + least_cost_ * k; }
  void wait_for(size_t i);
  void wait_for_listed(const Fifo& fifo, size_t lane);
  void bound_steps(const Fifo& fifo, const LaneView& view, int64_t count, Bounds& bounds);
  void wait_at_steps(const Fifo& fifo, const LaneView& view, int64_t count, Waits& waits);
  void wait_for_credits(size_t c);
  template <typename Wait>
  bool for_credits(size_t c, Wait&& wait) const;
  bool credits_in_time(size_t c) const;
  void add_credits(size_t c);
  bool solve_line();
  void solve_numbers();
  void solve();
  int64_t cost(int64_t k) const { return cost_ >= 0 ? cost_ : costs_[k]; }
  const Bounds& answered() const { return memory_bounds_.any() ? memory_bounds_ : arrival_bounds_; }
  int64_t ready(int64_t k, const Bounds& bounds) const;
  int64_t time(int64_t k) const { return line_.any() ? line_.at(k) : times_[k]; }
  void end_before(int64_t horizon);
  void take(size_t i);
  void give(size_t o);
  void append_all(TimeLines& to) const;
  void append_at(const LaneView& view, int64_t count, TimeLines& to);
  void charge_credits();
  void count(const StepCounting& counting);
  void trace(const StepCounting& counting) const;
  int64_t delays_after(const Bounds& bounds) const;
  int64_t free_before(int64_t k) const {
    return k == 0 ? p_->free_at : times_[k - 1] + cost(k - 1);
  }
  int64_t memory_waits() const;

  StepQueue* queue_ = nullptr;
  const StepPorts* ports_ = nullptr;
  StepProgress* p_ = nullptr;
  int64_t first_ = 0;  // the first step's number in its batch
  int64_t n_ = 0;
  StepEnd end_ = StepEnd::none;
  StepBlocker blocker_;
  int64_t least_cost_ = 0;  // of any step
  int64_t cost_ = 0;        // of each step; below 0: they differ
  // Nothing of the following is set before it is needed.
  std::vector<uint8_t> each_may_wait_;  // by input: each step may, for a token
  std::vector<CreditRange> waiting_;    // by credit
  int credits_waited_for_ = 0;          // ports whose credits may hold up a step
  Waits waits_;                         // for tokens
  Waits memory_waits_;                  // for answers of memory
  StepLine line_;
  int64_t first_answer_ = 0;  // of a line: cycles that its first step waits for memory alone
  int64_t blocked_ = 0;       // cycles for which only credits are missing
  Bounds arrival_bounds_;
  // Where many steps wait for answers these have bounds of their own (once solved: of tokens and
  // answers). The answers of few are among the arrivals.
  Bounds memory_bounds_;
  struct AnsweredStep {
    int64_t step;
    int64_t tokens;  // its bound without the answer
    int64_t all;     // and with it
  };
  std::vector<AnsweredStep> answered_steps_;
  Bounds credit_bounds_;
  StepTimes times_;
  StepTimes costs_;
};

}  // namespace fuseflow::engine
