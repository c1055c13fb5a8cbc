// Times of a run of steps where they are one line. Of step_solver.cpp only.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/timing/waits.h"
#include "support/ceil_div.h"

namespace fuseflow::engine {

class StepLine {
 public:
  bool any() const { return any_; }
  void clear() { any_ = false; }
  /// The steps are at start, start + step, ..
  void set(int64_t start, int64_t step) {
    start_ = start;
    step_ = step;
    any_ = true;
  }

  // Found in this order: start(), follow() for each input, delay_start(), solve().

  /// Steps from a time on, that far apart if nothing else holds them up.
  void start(int64_t free_at, int64_t cost) {
    set(free_at, cost);
    any_ = false;
    follows_ = false;
  }
  /// Each step waits for a token, and these come in a line. False if the steps are no line then.
  bool follow(int64_t start, int64_t step) {
    if (step <= step_) {
      if (start > start_ && follows_) return false;
      start_ = std::max(start_, start);
      return true;
    }
    if (start < start_) return false;
    start_ = start;
    step_ = step;
    follows_ = true;
    return true;
  }
  /// Moves the line's start to what step 0 waits for; by how much.
  int64_t delay_start(const Waits& waits) {
    const int64_t before = start_;
    for (const auto& [k, time] : waits) {
      if (k > 0) break;
      start_ = std::max(start_, time);
    }
    return start_ - before;
  }
  /// Whether the steps follow arrivals that are farther apart than they need: after a delay of step
  /// 0 they would catch up, so that they are no line.
  bool follows() const { return follows_; }
  /// How many of n steps are on the line: those before the first one that `waits` delays.
  int64_t solve(const Waits& waits, int64_t n) {
    for (const auto& [k, time] : waits) {
      if (k >= n) break;
      if (time <= at(k)) continue;
      n = k;
      break;
    }
    any_ = true;
    return n;
  }

  /// The time of step k; before solve(): no step is before, by what follow() was given.
  int64_t at(int64_t k) const { return start_ + step_ * k; }
  /// The first step at or after `time`; there must be one.
  int64_t first_from(int64_t time) const {
    return start_ >= time ? 0 : ceil_div(time - start_, step_);
  }
  /// Those of some steps, in order; step 0 has the number `first`.
  void at_each(const uint32_t* steps, int64_t count, int64_t first, int64_t* times) const {
    const int64_t base = start_ - step_ * first;
    if (step_ == 1) {  // as nearly always, and without a product
      for (int64_t j = 0; j < count; ++j) times[j] = base + steps[j];
    } else {
      for (int64_t j = 0; j < count; ++j) times[j] = base + step_ * steps[j];
    }
  }
  int64_t step() const { return step_; }

 private:
  int64_t start_ = 0;
  int64_t step_ = 0;
  bool any_ = false;
  bool follows_ = false;  // a line of arrivals that are farther apart than the steps have to be
};

}  // namespace fuseflow::engine
