// How many tokens a FIFO holds at most, from the times at which tokens are given and taken.
#pragma once

#include <cstdint>
#include <deque>

#include "sim/engine/times.h"

namespace fuseflow::engine {

/// The peak is the least depth d with give(k) > take(k - d) for all k (ir-spec/timing.md): as long as
/// that holds for the peak found so far, a batch of tokens costs one comparison a token at most.
class Occupancy {
 public:
  /// The next n tokens are given and taken at these times.
  void add(const TimeRef& gives, const TimeRef& takes, uint32_t n);
  int64_t peak() const { return peak_; }

 private:
  struct Span {
    int64_t first;  ///< index of its first token in the stream
    uint32_t count;
    TimeRef takes;
  };
  void compare(const TimeRef& gives, int64_t first, uint32_t n);
  uint32_t compare_span(const TimeRef& gives, const TimeRef& takes, uint32_t n) const;
  void forget();

  int64_t peak_ = 0;
  int64_t count_ = 0;
  std::deque<Span> spans_;  ///< takes of the last peak_ tokens, at least
};

}  // namespace fuseflow::engine
