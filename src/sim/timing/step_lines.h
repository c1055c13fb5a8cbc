// Times of a batch of steps where they are few lines: the recurrence solved from wait to wait
// instead of step by step. Of step_solver.cpp only.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "sim/timing/step_waits.h"
#include "sim/timing/time_lines.h"
#include "support/ceil_div.h"

namespace fuseflow::engine {

class StepLines {
 public:
  bool any() const { return count_ > 0; }
  void clear() { count_ = 0; }

  /// Steps from a time on, that far apart if nothing else holds them up.
  void start(int64_t free_at, int64_t cost) {
    count_ = 0;
    from_ = free_at;
    step_ = cost;
    follows_ = false;
  }
  /// Each step waits for a token, and these come in a line. False if the steps are no line then.
  bool follow(int64_t start, int64_t step) {
    if (step <= step_) {
      if (start > from_ && follows_) return false;
      from_ = std::max(from_, start);
      return true;
    }
    if (start < from_) return false;
    from_ = start;
    step_ = step;
    follows_ = true;
    return true;
  }
  /// Step k is not before, by what follow() was given.
  int64_t earliest(int64_t k) const { return from_ + step_ * k; }
  /// n steps, of which some wait besides. False if they are not worth it, or more than few lines.
  bool solve(const Waits& waits, int64_t n) {
    constexpr int64_t kWorth = 4;  // steps a wait
    if (waits.count() * kWorth > n + kWorth) return false;
    set(n);
    for (const auto& [k, time] : waits) {
      if (k >= n) break;
      Line& line = lines_[static_cast<size_t>(count_) - 1];
      if (time <= line.start + step_ * (k - line.first)) continue;
      // After the wait the steps would catch up with what they follow.
      if ((follows_ && k + 1 < n) || count_ == kMost) {
        clear();
        return false;
      }
      if (line.first == k) {
        line.start = time;
      } else {
        lines_[static_cast<size_t>(count_++)] = {k, time};
      }
    }
    return true;
  }
  /// n steps that wait for nothing else.
  void set(int64_t n) {
    count_ = n > 0 ? 1 : 0;
    lines_[0] = {0, from_};
  }

  int64_t at(int64_t k) const {
    int l = count_ - 1;
    while (line(l).first > k) --l;
    return line(l).start + step_ * (k - line(l).first);
  }
  /// The first of n steps that is not before a time; the last is not.
  int64_t first_from(int64_t time, int64_t n) const {
    int l = count_ - 1;
    while (l >= 0 && line(l).start >= time) --l;
    if (l < 0) return 0;
    const int64_t end = std::min(n, l + 1 == count_ ? n : line(l + 1).first);
    if (step_ == 0) return end;
    return std::min(end, line(l).first + ceil_div(time - line(l).start, step_));
  }
  /// Those of some steps, in order; step 0 has the number `first`.
  void at_each(const uint32_t* steps, int64_t count, int64_t first, int64_t* times) const {
    int64_t j = 0;
    for (int l = 0; l < count_ && j < count; ++l) {
      const int64_t base = line(l).start - step_ * (line(l).first + first);
      int64_t end = count;
      if (l + 1 < count_) {
        end = std::lower_bound(steps + j, steps + count, line(l + 1).first + first) - steps;
      }
      if (step_ == 1) {  // as nearly always, and without a product
        for (; j < end; ++j) times[j] = base + steps[j];
      } else {
        for (; j < end; ++j) times[j] = base + step_ * steps[j];
      }
    }
  }
  /// The first n.
  void append_to(TimeLines& to, int64_t n) const {
    for (int l = 0; l < count_ && line(l).first < n; ++l) {
      const int64_t end = l + 1 == count_ ? n : std::min(n, line(l + 1).first);
      to.append_line(end - line(l).first, line(l).start, step_);
    }
  }

 private:
  static constexpr int kMost = 64;
  struct Line {
    int64_t first;
    int64_t start;
  };
  const Line& line(int l) const { return lines_[static_cast<size_t>(l)]; }

  std::array<Line, kMost> lines_;
  int count_ = 0;
  int64_t from_ = 0;
  int64_t step_ = 0;
  bool follows_ = false;  // a line of arrivals that are farther apart than the steps have to be
};

}  // namespace fuseflow::engine
