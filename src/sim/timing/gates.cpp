#include "sim/timing/gates.h"

#include <algorithm>

namespace fuseflow::engine {

bool gate_arrivals(const Waits& gates, uint32_t n, int64_t earliest,
                   std::span<const TimeRef> beside, TimeRef& arrivals) {
  if (!gates.any() || gates.back().time <= earliest) return false;
  for (const TimeRef& other : beside) {
    TimeCursor cursor(other);
    const bool passed = std::all_of(gates.begin(), gates.end(), [&](const Waits::Wait& gate) {
      return gate.time <= cursor.at(gate.step);
    });
    if (passed) return false;
  }
  TimesBuilder times(0);
  if (gates.front().step > 0) times.append(gates.front().step, kLongAgo, 0);
  for (size_t g = 0; g < gates.size(); ++g) {
    const uint32_t end = g + 1 < gates.size() ? gates[g + 1].step : n;
    times.append(end - gates[g].step, gates[g].time, 0);
  }
  arrivals = {times.finish(), 0, 0};
  return true;
}

namespace {

/// Many of the steps: a time each.
TimeRef sample_many(const TimeRef& steps, std::span<const uint32_t> at) {
  const auto n = static_cast<uint32_t>(at.size());
  bool twice = false;  // two tokens in one step
  for (uint32_t j = 1; j < n; ++j) twice |= at[j] == at[j - 1];
  TimesBuilder times(twice ? 0 : steps.times->gap);
  int64_t* const out = times.reserve(n);
  TimeCursor cursor(steps);
  for (uint32_t j = 0; j < n;) {
    const int64_t first = cursor.at(at[j]);
    const auto* const past = std::lower_bound(at.data() + j, at.data() + n, cursor.piece_end());
    const auto end = static_cast<uint32_t>(past - at.data());
    if (cursor.step() == kExplicit) {
      const int64_t* const values = cursor.values(0);
      const int64_t delta = cursor.delta();
      for (; j < end; ++j) out[j] = values[at[j]] + delta;
    } else {
      const int64_t step = cursor.step();
      const int64_t base = first - step * static_cast<int64_t>(at[j]);
      for (; j < end; ++j) out[j] = base + step * static_cast<int64_t>(at[j]);
    }
  }
  times.commit(n);
  return {times.finish(), 0, 0};
}

}  // namespace

TimeRef sample(const TimeRef& steps, std::span<const uint32_t> at) {
  constexpr uint32_t kMany = 4;  // one of so many steps, about
  const auto n = static_cast<uint32_t>(at.size());
  if (n > 1 && (n - 1) * kMany > at.back() - at.front()) return sample_many(steps, at);
  int64_t gap = steps.times->gap;
  for (uint32_t j = 1; j < n; ++j) {
    if (at[j] == at[j - 1]) gap = 0;
  }
  TimesBuilder times(gap);
  TimeCursor cursor(steps);
  for (const uint32_t k : at) times.append(1, cursor.at(k), 0);
  return {times.finish(), 0, 0};
}

}  // namespace fuseflow::engine
