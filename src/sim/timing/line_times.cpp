#include "sim/timing/line_times.h"

#include <algorithm>

namespace fuseflow::engine {

void append_times(TimeLines& to, const TimeRef& times, uint32_t n) {
  TimeCursor cursor(times);
  for (uint32_t k = 0; k < n;) {
    const int64_t start = cursor.at(k);
    const uint32_t count = std::min(n, cursor.piece_end()) - k;
    if (cursor.step() != kExplicit) {
      to.append_line(count, start, cursor.step());
    } else {
      const int64_t* values = cursor.values(k);
      const int64_t delta = cursor.delta();
      for (int64_t left = count; left > 0;) {
        int64_t room = left;
        int64_t* const at = to.extend(room);
        for (int64_t i = 0; i < room; ++i) at[i] = values[i] + delta;
        values += room;
        left -= room;
      }
    }
    k += count;
  }
}

TimeRef TimesReader::read(const TimeLines& lines, uint32_t n) {
  int64_t gap = int64_t{1} << 30;  // as good as unknown; TimesBuilder multiplies it by the count
  TimesBuilder times(0);
  TimeLines::Cursor cursor;
  for (int64_t left = n; left > 0;) {
    const TimeLines::Stretch s = lines.stretch(next_, left, cursor);
    const auto count = static_cast<uint32_t>(s.count);
    gap = std::min(gap, s.at(0) - last_);
    if (s.values == nullptr) {
      if (s.count > 1) gap = std::min(gap, s.step);
      times.append(count, s.start, s.step);
    } else {
      for (int64_t k = 1; k < s.count; ++k) gap = std::min(gap, s.values[k] - s.values[k - 1]);
      std::copy_n(s.values, s.count, times.reserve(count));
      times.commit(count);
    }
    last_ = s.last();
    next_ += s.count;
    left -= s.count;
  }
  times.set_gap(gap);
  return {times.finish(), 0, 0};
}

}  // namespace fuseflow::engine
