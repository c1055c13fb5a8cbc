#include "machine/speed_up.h"

#include <cmath>

namespace fuseflow {
namespace {

std::optional<double> quotient(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b || *a <= 0 || *b <= 0) return std::nullopt;
  return *a / *b;
}

}  // namespace

std::optional<double> times_as_fast(const RunTime& before, const RunTime& now) {
  const bool timed = before.seconds && now.seconds;
  return timed ? quotient(before.seconds, now.seconds) : quotient(before.cycles, now.cycles);
}

bool clocks_differ(const RunTime& a, const RunTime& b) {
  constexpr double kRounding = 1e-4;  // reports have six digits of the time
  const std::optional<double> cycle_of_a = quotient(a.seconds, a.cycles);
  const std::optional<double> cycle_of_b = quotient(b.seconds, b.cycles);
  if (!cycle_of_a || !cycle_of_b) return false;
  return std::abs(*cycle_of_a - *cycle_of_b) > kRounding * *cycle_of_a;
}

}  // namespace fuseflow
