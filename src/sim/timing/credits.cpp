#include "sim/timing/credits.h"

#include <algorithm>

namespace fuseflow::engine {

void Credits::take(size_t consumer, const TimeRef& takes, uint32_t n) {
  const std::lock_guard lock(mutex_);
  Consumer& taker = consumers_[consumer];
  taker.takes.push_back({taker.taken, n, takes});
  taker.taken += n;
}

int64_t Credits::room() const {
  const std::lock_guard lock(mutex_);
  int64_t room = INT64_MAX;
  for (const Consumer& consumer : consumers_) {
    room = std::min(room, consumer.taken + capacity_ - given_);
  }
  return room;
}

TimeRef Credits::steps(Pace& pace, std::span<const TimeRef> arrivals, uint32_t n, Blocked blocked) {
  const std::lock_guard lock(mutex_);
  std::vector<CreditPiece> pieces;
  for (const Consumer& consumer : consumers_) {
    for (const Span& span : consumer.takes) {
      const int64_t first = std::max(span.first + capacity_, given_);
      const int64_t end = std::min(span.end() + capacity_, given_ + n);
      if (first >= end) continue;
      pieces.push_back({static_cast<uint32_t>(first - given_), static_cast<uint32_t>(end - first),
                        span.times.from(static_cast<uint32_t>(first - capacity_ - span.first))});
    }
  }
  given_ += n;
  const TimeRef steps = step_times_with_credits(pace, arrivals, pieces, n, blocked);
  forget();
  return steps;
}

void Credits::forget() {
  for (Consumer& consumer : consumers_) {
    while (!consumer.takes.empty() && consumer.takes.front().end() + capacity_ <= given_) {
      consumer.takes.pop_front();
    }
  }
}

}  // namespace fuseflow::engine
