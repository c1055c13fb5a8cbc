// Bounds of all steps of a run: the earliest times that ports set for them. Those of single steps
// are waits (waits.h). Of step_solver.h only.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "sim/data/ends_of_time.h"
#include "sim/timing/step_kernels.h"
#include "sim/timing/time_lines.h"
#include "sim/timing/waits.h"

namespace fuseflow::engine {

constexpr int64_t kMostSteps = 1024;  ///< done at once

// A cache line more, so that several of them do not fall on the same lines of the cache.
using StepTimes = std::array<int64_t, kMostSteps + 8>;

/// Earliest times of all steps, as far as some port sets them.
class Bounds {
 public:
  bool any() const { return any_; }
  void clear() { any_ = false; }
  const int64_t* at() const { return at_.data(); }

  /// Step k, first <= k < n, is no earlier than `plus` after the time of token `index` + k.
  void add_each(const TimeLines& times, TimeLines::Cursor cursor, int64_t index, int64_t plus,
                int64_t first, int64_t n) {
    const bool fresh = !any_ && first == 0;
    if (!fresh) start(n);
    any_ = true;
    for (int64_t k = first; k < n;) {
      const TimeLines::Stretch s = times.stretch(index + k, n - k, cursor);
      int64_t* to = at_.data() + k;
      if (s.values == nullptr) {
        fresh ? loops::set_line(to, s.start + plus, s.step, s.count)
              : loops::raise_line(to, s.start + plus, s.step, s.count);
      } else {
        fresh ? loops::set(to, s.values, plus, s.count) : loops::raise(to, s.values, plus, s.count);
      }
      k += s.count;
    }
  }
  /// To be called before add(): each of n steps gets a bound, kLongAgo where none is set.
  void start(int64_t n) {
    if (!any_) std::fill_n(at_.data(), n, kLongAgo);
    any_ = true;
  }
  /// Raises the bound of each of n steps to at least that in `others`.
  void raise_to(const Bounds& others, int64_t n) { loops::raise(at_.data(), others.at(), 0, n); }
  void add(int64_t k, int64_t time) {
    int64_t& bound = at_[k];
    bound = std::max(bound, time);
  }

 private:
  StepTimes at_;
  bool any_ = false;
};

}  // namespace fuseflow::engine
