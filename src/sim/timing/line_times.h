// A stream's times as lines (time_lines.h) out of pieces (data/times.h), and back.
#pragma once

#include <cstdint>

#include "sim/data/times.h"
#include "sim/timing/time_lines.h"

namespace fuseflow::engine {

/// Appends the first n of `times`, for which there must be room.
void append_times(TimeLines& to, const TimeRef& times, uint32_t n);

/// Reads the times of a stream's tokens in order. The gaps of all that it gives hold between one
/// and the next, too.
class TimesReader {
 public:
  int64_t position() const { return next_; }
  TimeRef read(const TimeLines& lines, uint32_t n);

 private:
  int64_t next_ = 0;
  int64_t last_ = kLongAgo;  // of the token before
};

}  // namespace fuseflow::engine
