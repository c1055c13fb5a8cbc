// How many tokens a FIFO holds at most, from the times at which tokens are given and taken.
#pragma once

#include <cstdint>
#include <deque>

#include "sim/data/times.h"
#include "sim/timing/packed_times.h"

namespace fuseflow::engine {

/// At the time of giving token k, k + 1 - (takes before that time) tokens are held. So the peak is
/// the least depth d with give(k) > take(k - d) for all k (ir-spec/timing.md). Costs nothing a
/// token where tokens are given in runs, or taken at the pace at which they are given.
class Occupancy {
 public:
  /// The next n tokens are given and taken at these times.
  void add(const TimeRef& gives, const TimeRef& takes, uint32_t n);
  int64_t peak() const { return peak_; }

 private:
  struct Span {
    int64_t first;  ///< index of its first token in the stream
    uint32_t count;
    int64_t last_time;
    TimeRef takes;       ///< of its tokens, or
    PackedTimes packed;  ///< its takes, once many spans have come after it
  };
  static constexpr size_t kMostUnpacked = 16;
  const TimeRef& takes(const Span& span);
  void judge(const TimeRef& gives, int64_t first, uint32_t n);
  void judge_at(int64_t time, int64_t token);
  const Span& holding(int64_t token) const;
  void compare(const TimeRef& gives, int64_t first, uint32_t n);
  void forget();

  int64_t peak_ = 0;
  int64_t count_ = 0;
  int64_t gap_ = INT64_MAX;      ///< of all takes
  std::deque<Span> spans_;       ///< takes of the last peak_ + 1 tokens, at least
  int64_t unpacked_first_ = -1;  ///< of the span that was unpacked last
  TimeRef unpacked_;
};

}  // namespace fuseflow::engine
