#include "sim/timing/occupancy.h"

#include <algorithm>

#include "support/ceil_div.h"

namespace fuseflow::engine {

namespace {

/// The number of leading tokens that are given after those of `takes` are taken, n if all.
uint32_t leading_good(const TimeRef& gives, const TimeRef& takes, uint32_t n) {
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
    if (gs != kExplicit && ts != kExplicit) {
      if (ts > gs) {
        const int64_t meet = ceil_div(g - t, ts - gs);  // first token with give <= take
        if (meet < count) return k + static_cast<uint32_t>(meet);
      }
    } else {
      for (uint32_t i = 1; i < count; ++i) {
        if (give.at(k + i) <= take.at(k + i)) return k + i;
      }
    }
    k += count;
  }
  return n;
}

/// The number of tokens before `time`.
uint32_t count_before(const TimeRef& takes, uint32_t n, int64_t time) {
  uint32_t low = 0;
  uint32_t high = n;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (takes.at(middle) < time) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

void Occupancy::add(const TimeRef& gives, const TimeRef& takes, uint32_t n) {
  if (n == 0) return;
  const int64_t first = count_;
  count_ += n;
  if (peak_ == 0) peak_ = 1;
  gap_ = std::min(gap_, takes.times->gap);
  const int64_t before = spans_.empty() ? INT64_MIN : spans_.back().last_time;
  spans_.push_back({first, n, takes.at(n - 1), takes, {}});
  if (spans_.size() > kMostUnpacked) {
    Span& old = spans_[spans_.size() - 1 - kMostUnpacked];
    if (old.packed.empty()) {
      old.packed = PackedTimes(old.takes, old.count);
      old.takes = {};
    }
  }
  // Each token is taken D = takes.delta - gives.delta after it was given, and gives are at least
  // `gap` apart: at most D / gap + 1 tokens of the batch are held at a time, and none of earlier
  // ones. If the peak is that much already, nothing changes.
  const bool same_pace = gives.times == takes.times && gives.offset == takes.offset;
  if (same_pace && peak_ * gives.times->gap > takes.delta - gives.delta &&
      (before == INT64_MIN || gives.at(0) > before)) {
    return forget();
  }
  judge(gives, first, n);
  forget();
}

const TimeRef& Occupancy::takes(const Span& span) {
  if (span.packed.empty()) return span.takes;
  if (unpacked_first_ != span.first) {
    unpacked_ = span.packed.unpack();
    unpacked_first_ = span.first;
  }
  return unpacked_;
}

/// Raises the peak for the tokens of a batch, run by run.
void Occupancy::judge(const TimeRef& gives, int64_t first, uint32_t n) {
  TimeCursor cursor(gives);
  for (uint32_t k = 0; k < n;) {
    const int64_t start = cursor.at(k);
    const uint32_t count = std::min(n, cursor.piece_end()) - k;
    const int64_t step = cursor.step();
    if (step != kExplicit) {
      judge_at(start + step * static_cast<int64_t>(count - 1), first + k + count - 1);
    }
    // With at most one take for each give, the last token of a run meets the most.
    if (step == kExplicit || step > gap_) compare(gives.from(k), first + k, count);
    k += count;
  }
}

/// Raises the peak by what is there when the token is given.
void Occupancy::judge_at(int64_t time, int64_t token) {
  const auto span = std::lower_bound(spans_.begin(), spans_.end(), time,
                                     [](const Span& s, int64_t t) { return s.last_time < t; });
  if (span == spans_.end()) return;  // taken, all of them
  const int64_t released = span->first + count_before(takes(*span), span->count, time);
  peak_ = std::max(peak_, token + 1 - released);
}

const Occupancy::Span& Occupancy::holding(int64_t token) const {
  const auto next = std::upper_bound(spans_.begin(), spans_.end(), token,
                                     [](int64_t t, const Span& span) { return t < span.first; });
  return *(next - 1);
}

/// Raises the peak until give(k) > take(k - peak) for every token k of the batch.
void Occupancy::compare(const TimeRef& gives, int64_t first, uint32_t n) {
  // Tokens before the first span had left when the batch before ended.
  const int64_t oldest = std::max<int64_t>(0, spans_.front().first + peak_ - first);
  auto k = static_cast<uint32_t>(std::min<int64_t>(n, oldest));
  while (k < n) {
    const int64_t taken = first + k - peak_;  // the token that must have left
    const Span& span = holding(taken);
    const auto offset = static_cast<uint32_t>(taken - span.first);
    const uint32_t length = std::min(n - k, span.count - offset);
    const uint32_t good = leading_good(gives.from(k), takes(span).from(offset), length);
    k += good;
    if (good == length) continue;
    // One more is enough for this token: take(k - 1 - peak) < give(k - 1) <= give(k).
    ++peak_;
    ++k;
  }
}

void Occupancy::forget() {
  while (spans_.size() > 1 && spans_[1].first < count_ - peak_) spans_.pop_front();
}

}  // namespace fuseflow::engine
