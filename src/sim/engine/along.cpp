#include "sim/engine/along.h"

#include <algorithm>

namespace fuseflow::engine {

bool gate_arrivals(std::span<const Gate> gates, uint32_t n, int64_t earliest,
                   std::span<const TimeRef> beside, TimeRef& arrivals) {
  while (!gates.empty() && gates.back().at >= n) gates = gates.first(gates.size() - 1);
  if (gates.empty() || gates.back().time <= earliest) return false;
  for (const TimeRef& other : beside) {
    TimeCursor cursor(other);
    const bool passed = std::all_of(gates.begin(), gates.end(), [&](const Gate& gate) {
      return gate.time <= cursor.at(gate.at);
    });
    if (passed) return false;
  }
  TimesBuilder times(0);
  if (gates.front().at > 0) times.append(gates.front().at, INT64_MIN / 4, 0);
  for (size_t g = 0; g < gates.size(); ++g) {
    const uint32_t end = g + 1 < gates.size() ? gates[g + 1].at : n;
    times.append(end - gates[g].at, gates[g].time, 0);
  }
  arrivals = {times.finish(), 0, 0};
  return true;
}

TimeRef sample(const TimeRef& steps, std::span<const uint32_t> at, uint32_t n, int64_t gap) {
  uint32_t count = 0;
  uint32_t before = UINT32_MAX;
  for (const uint32_t k : at) {
    if (k >= n) break;
    if (k == before) gap = 0;
    before = k;
    ++count;
  }
  TimesBuilder times(gap);
  TimeCursor cursor(steps);
  for (const uint32_t k : at.first(count)) times.append(1, cursor.at(k), 0);
  return {times.finish(), 0, 0};
}

void Along::add_arrivals(uint32_t n, int64_t earliest, std::vector<TimeRef>& arrivals) const {
  TimeRef ref;
  if (gate_arrivals(gates_, n, earliest, arrivals, ref)) arrivals.push_back(std::move(ref));
}

void Along::take(const TimeRef& steps, uint32_t n) {
  const auto count =
      static_cast<uint32_t>(std::lower_bound(takes_.begin(), takes_.end(), n) - takes_.begin());
  if (count == 0) return;
  port_->take(count, sample(steps, takes_, n, steps.times->gap));
}

}  // namespace fuseflow::engine
