#include "sim/timing/credit_times.h"

#include <algorithm>

#include "sim/timing/occupancy.h"

namespace fuseflow::engine {

bool never_wait(const TimeRef& steps, std::span<const CreditPiece> credits) {
  return std::all_of(credits.begin(), credits.end(), [&](const CreditPiece& piece) {
    return leading_good(steps.from(piece.at), piece.takes, piece.count) == piece.count;
  });
}

bool never_later(const TimeRef& a, const TimeRef& b, uint32_t n) {
  TimeCursor x(a);
  TimeCursor y(b);
  for (uint32_t k = 0; k < n;) {
    if (x.at(k) > y.at(k)) return false;
    const uint32_t count = std::min({n, x.piece_end(), y.piece_end()}) - k;
    if (x.step() != kExplicit && y.step() != kExplicit) {
      if (x.at(k + count - 1) > y.at(k + count - 1)) return false;
    } else {
      for (uint32_t i = 1; i < count; ++i) {
        if (x.at(k + i) > y.at(k + i)) return false;
      }
    }
    k += count;
  }
  return true;
}

void note_busy(Activity& activity, const TimeRef& steps, uint32_t n, int64_t interval) {
  TimeCursor cursor(steps);
  for (uint32_t k = 0; k < n;) {
    const int64_t start = cursor.at(k);
    const uint32_t count = std::min(n, cursor.piece_end()) - k;
    if (cursor.step() == interval) {
      activity.add(start, start + interval * static_cast<int64_t>(count) - 1);
    } else {
      for (uint32_t i = k; i < k + count; ++i) {
        const int64_t t = cursor.at(i);
        activity.add(t, t + interval - 1);
      }
    }
    k += count;
  }
}

namespace {

/// Cycles by which each step is later than its arrival and the step before allow. `earliest`: of
/// the first step.
int64_t delays(int64_t earliest, int64_t interval, const TimeRef& arrivals, const TimeRef& steps,
               uint32_t n) {
  int64_t sum = 0;
  TimeCursor arrival(arrivals);
  TimeCursor step(steps);
  for (uint32_t k = 0; k < n;) {
    const int64_t first = step.at(k);
    sum += first - std::max(earliest, arrival.at(k));
    const uint32_t count = std::min({n, step.piece_end(), arrival.piece_end()}) - k;
    const uint32_t last = k + count - 1;
    const int64_t distance = step.step();
    const bool regular = distance != kExplicit && arrival.step() != kExplicit;
    if (regular && distance == interval) {
    } else if (regular &&
               first + distance - arrival.at(k) - arrival.step() >= distance - interval &&
               step.at(last) - arrival.at(last) >= distance - interval) {
      sum += (distance - interval) * static_cast<int64_t>(count - 1);
    } else {
      int64_t before = first;
      for (uint32_t i = k + 1; i <= last; ++i) {
        const int64_t t = step.at(i);
        sum += t - std::max(before + interval, arrival.at(i));
        before = t;
      }
    }
    earliest = step.at(last) + interval;
    k += count;
  }
  return sum;
}

/// The same cycles, one by one.
void note_delays(Activity& when, int64_t earliest, int64_t interval, const TimeRef& arrivals,
                 const TimeRef& steps, uint32_t n) {
  TimeCursor arrival(arrivals);
  TimeCursor step(steps);
  for (uint32_t k = 0; k < n; ++k) {
    const int64_t ready = std::max(earliest, arrival.at(k));
    const int64_t t = step.at(k);
    if (t > ready) when.add(ready, t - 1);
    earliest = t + interval;
  }
}

}  // namespace

TimeRef step_times_with_credits(Pace& pace, std::span<const TimeRef> arrivals,
                                std::span<const CreditPiece> credits, uint32_t n, Blocked blocked) {
  TimesBuilder times(pace.interval);
  std::vector<TimeRef> needs;
  for (uint32_t k = 0; k < n;) {
    needs.clear();
    for (const TimeRef& arrival : arrivals) needs.push_back(arrival.from(k));
    const size_t inputs = needs.size();
    uint32_t end = n;
    for (const CreditPiece& piece : credits) {
      if (piece.at > k) end = std::min(end, piece.at);
      if (piece.at > k || piece.at + piece.count <= k) continue;
      end = std::min(end, piece.at + piece.count);
      needs.push_back(piece.takes.from(k - piece.at).later(1));
    }
    const int64_t earliest = pace.next();
    const TimeRef steps = step_times(pace, needs, end - k);
    if (needs.size() > inputs) {
      const TimeRef ready = latest(std::span(needs).first(inputs), end - k);
      blocked.cycles += delays(earliest, pace.interval, ready, steps, end - k);
      if (blocked.when != nullptr) {
        note_delays(*blocked.when, earliest, pace.interval, ready, steps, end - k);
      }
    }
    if (k == 0 && end == n) return steps;
    append_times(times, steps, end - k);
    k = end;
  }
  return {times.finish(), 0, 0};
}

}  // namespace fuseflow::engine
