// What a batch of steps waits for: at which of its steps something happens at a port, and the
// earliest times that ports set. Of mixed_steps.cpp only.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "sim/engine/mixed_steps.h"
#include "sim/engine/step_kernels.h"
#include "sim/engine/time_lines.h"

namespace fuseflow::engine {

// A cache line more, so that several of them do not fall on the same lines of the cache.
using Steps = std::array<int64_t, kMostMixedSteps + 8>;

/// Steps at which something happens at a port, one after the other.
struct Places {
  // Nothing is set before find(): most ports need no places.
  std::array<uint16_t, kMostMixedSteps + kernels::kPlacesSlack> at;
  int64_t count;

  void find(const kernels::TypeSet& set, const uint8_t* types, int64_t n) {
    count = kernels::places_of(set, types, n, at.data());
  }
  int64_t operator[](int64_t j) const { return at[static_cast<size_t>(j)]; }
  /// Of those before step `end`.
  int64_t before(int64_t end) const {
    if (count == 0 || (*this)[count - 1] < end) return count;
    return std::lower_bound(at.begin(), at.begin() + count, end) - at.begin();
  }
};

/// Single steps that can't be before some time, in order; a step may be there for several ports.
class Waits {
 public:
  struct Wait {
    int64_t step;
    int64_t time;
  };
  /// Adds those of a port, in order, to those that are there.
  class Adder {
   public:
    explicit Adder(Waits& waits)
        : waits_(waits), old_(waits.begin()), old_end_(waits.end()), to_(waits.other()) {}
    void put(int64_t step, int64_t time) {
      while (old_ < old_end_ && old_->step <= step) *to_++ = *old_++;
      *to_++ = {step, time};
    }
    void finish() {
      to_ = std::copy(old_, old_end_, to_);
      waits_.count_ = to_ - waits_.other();
      waits_.now_ = 1 - waits_.now_;
    }

   private:
    Waits& waits_;
    const Wait* old_;
    const Wait* old_end_;
    Wait* to_;
  };

  bool any() const { return count_ > 0; }
  int64_t count() const { return count_; }
  const Wait* begin() const { return lists_[now_].data(); }
  const Wait* end() const { return begin() + count_; }

 private:
  Wait* other() { return lists_[1 - now_].data(); }

  static constexpr size_t kMost = MixedLanes::kMost * kMostMixedSteps;
  std::array<std::array<Wait, kMost>, 2> lists_;  // nothing is set before it is put
  size_t now_ = 0;
  int64_t count_ = 0;
};

/// Earliest times of all steps, as far as some port sets them.
class Bounds {
 public:
  bool any() const { return any_; }
  const int64_t* at() const { return at_.data(); }
  int64_t* room() { return at_.data(); }  ///< for something else, when they are not needed any more

  /// Steps first .. n-1 are no earlier than tokens `index` on (that of step 0), `plus` later.
  void add_each(const TimeLines& times, TimeLines::Cursor cursor, int64_t index, int64_t plus,
                int64_t first, int64_t n) {
    const bool fresh = !any_ && first == 0;
    if (!fresh) start(n);
    any_ = true;
    for (int64_t k = first; k < n;) {
      const TimeLines::Stretch s = times.stretch(index + k, n - k, cursor);
      int64_t* to = at_.data() + k;
      if (s.values == nullptr) {
        fresh ? kernels::set_line(to, s.start + plus, s.step, s.count)
              : kernels::raise_line(to, s.start + plus, s.step, s.count);
      } else {
        fresh ? kernels::set(to, s.values, plus, s.count)
              : kernels::raise(to, s.values, plus, s.count);
      }
      k += s.count;
    }
  }
  /// For single steps of the n.
  void start(int64_t n) {
    constexpr int64_t kNever = INT64_MIN / 4;
    if (!any_) std::fill_n(at_.data(), n, kNever);
    any_ = true;
  }
  void add(int64_t k, int64_t time) {
    int64_t& bound = at_[static_cast<size_t>(k)];
    bound = std::max(bound, time);
  }

 private:
  Steps at_;
  bool any_ = false;
};

}  // namespace fuseflow::engine
