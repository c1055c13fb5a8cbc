// When an accumulator with two stores drains them, where nothing waits for its outputs: as soon as
// a store has been handed over and the other one is drained (ir-spec/timing.md, "Two stores").
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/data/steps.h"
#include "sim/data/times.h"

namespace fuseflow::engine {

class StoreClock {
 public:
  /// The steps that drain the stores of a batch.
  void start_batch(const Steps& drain) {
    drain_ = &drain;
    closed_before_ = closed_;
    free_before_ = free_;
    token_ = step_ = 0;
    // All stores are alike: so much between the steps of one, so much behind its last.
    cost_ = drain.stages.empty() ? drain.cost : drain.stages.front().cost;
    last_cost_ = drain.stages.empty() ? drain.cost : drain.stages.front().last_cost;
    times_ = TimesBuilder(std::min(cost_, last_cost_));
  }
  /// Back to the start of the batch.
  void restart_batch() {
    closed_ = closed_before_;
    free_ = free_before_;
    start_batch(*drain_);
  }
  /// No store can be handed over earlier: the last step that drained the other one, and a cycle.
  int64_t earliest() const { return closed_ + 1; }
  /// The next store is handed over.
  void hand_over(int64_t time) {
    const uint32_t last = drain_->in[0].at[token_++];
    const uint32_t before = last - step_;  // steps before the one that ends the store
    const int64_t start = std::max(time, free_);
    times_.append(before, start, cost_);
    closed_ = start + cost_ * before;
    times_.append(1, closed_, 0);
    free_ = closed_ + last_cost_;
    step_ = last + 1;
  }
  int64_t last() const { return closed_; }
  TimeRef times() { return {times_.finish(), 0, 0}; }

 private:
  const Steps* drain_ = nullptr;
  uint32_t token_ = 0;  // of the batch: the next store
  uint32_t step_ = 0;   // the first that drains it
  TimesBuilder times_{0};
  int64_t cost_ = 1;
  int64_t last_cost_ = 1;
  int64_t closed_ = kLongAgo;
  int64_t free_ = kLongAgo;
  int64_t closed_before_ = kLongAgo;  // both before the batch
  int64_t free_before_ = kLongAgo;
};

}  // namespace fuseflow::engine
