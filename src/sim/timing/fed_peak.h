// The most tokens that a FIFO holds whose gives come from outside of what is replayed: as pieces,
// which take no room where they are shared, and its takes as lines.
#pragma once

#include <cstdint>
#include <deque>

#include "sim/timing/line_times.h"
#include "sim/timing/occupancy.h"

namespace fuseflow::engine {

class FedPeak {
 public:
  /// The next n tokens are given at these times.
  void give(const TimeRef& gives, uint32_t n) { gives_.push_back({gives, n}); }
  /// All tokens of `takes` have been taken; the latest need not be kept any more.
  void take(const TimeLines& takes);
  int64_t peak() const { return occupancy_.peak(); }

 private:
  struct Span {
    TimeRef times;
    uint32_t count;
  };
  std::deque<Span> gives_;  // of the tokens that have not been taken
  TimesReader taken_;
  Occupancy occupancy_;
};

}  // namespace fuseflow::engine
