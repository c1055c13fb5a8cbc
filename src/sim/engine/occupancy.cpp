#include "sim/engine/occupancy.h"

#include <algorithm>

namespace fuseflow::engine {

void Occupancy::add(const TimeRef& gives, const TimeRef& takes, uint32_t n) {
  if (n == 0) return;
  const int64_t first = count_;
  count_ += n;
  if (peak_ == 0) peak_ = 1;
  spans_.push_back({first, n, takes});
  compare(gives, first, n);
  forget();
}

/// Raises the peak until give(k) > take(k - peak) for every token k of the batch.
void Occupancy::compare(const TimeRef& gives, int64_t first, uint32_t n) {
  uint32_t k = 0;
  if (first < peak_) k = static_cast<uint32_t>(std::min<int64_t>(n, peak_ - first));
  while (k < n) {
    const int64_t taken = first + k - peak_;  // the token that must have left
    auto span = std::upper_bound(spans_.begin(), spans_.end(), taken,
                                 [](int64_t token, const Span& s) { return token < s.first; });
    --span;
    const auto offset = static_cast<uint32_t>(taken - span->first);
    const uint32_t length = std::min(n - k, span->count - offset);
    const uint32_t good = compare_span(gives.from(k), span->takes.from(offset), length);
    k += good;
    if (good == length) continue;
    // One more is enough for this token: the one before it came later than take(k - 1 - peak).
    ++peak_;
    ++k;
  }
}

/// The number of leading tokens with give > take, n if all.
uint32_t Occupancy::compare_span(const TimeRef& gives, const TimeRef& takes, uint32_t n) const {
  if (gives.at(0) > takes.at(n - 1)) return n;
  TimeCursor give(gives);
  TimeCursor take(takes);
  for (uint32_t k = 0; k < n;) {
    const int64_t g = give.at(k);
    const int64_t t = take.at(k);
    if (g <= t) return k;
    const uint32_t count = std::min({n, give.piece_end(), take.piece_end()}) - k;
    const int64_t gs = give.step();
    const int64_t ts = take.step();
    uint32_t i = 1;
    if (gs != kExplicit && ts != kExplicit) {
      if (ts > gs) {
        const int64_t meet = (g - t + ts - gs - 1) / (ts - gs);  // first token with give <= take
        if (meet < count) return k + static_cast<uint32_t>(meet);
      }
      i = count;
    } else {
      while (i < count && give.at(k + i) > take.at(k + i)) ++i;
      if (i < count) return k + i;
    }
    k += count;
  }
  return n;
}

void Occupancy::forget() {
  while (spans_.size() > 1 && spans_[1].first < count_ - peak_) spans_.pop_front();
}

}  // namespace fuseflow::engine
