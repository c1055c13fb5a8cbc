#include "sim/common/activity.h"

#include <algorithm>

namespace fuseflow {

namespace {
constexpr size_t kMostIntervals = 4096;
}  // namespace

void Activity::fit(int64_t last) {
  while (last / interval_ >= static_cast<int64_t>(kMostIntervals)) {
    for (size_t k = 0; k < busy_.size(); ++k) {
      const int64_t sum = busy_[k];
      busy_[k] = 0;
      busy_[k / 2] += sum;
    }
    busy_.resize((busy_.size() + 1) / 2);
    interval_ *= 2;
  }
  const auto needed = static_cast<size_t>(last / interval_) + 1;
  if (busy_.size() < needed) busy_.resize(needed, 0);
}

void Activity::add(int64_t first, int64_t last) {
  fit(last);
  for (int64_t at = first; at <= last;) {
    const int64_t end = std::min(last, (at / interval_ + 1) * interval_ - 1);
    busy_[at / interval_] += end - at + 1;
    at = end + 1;
  }
}

}  // namespace fuseflow
