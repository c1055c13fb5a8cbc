#include "report/number_text.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace fuseflow {
namespace {

/// Integers below this are exact as doubles and fit int64_t.
constexpr double kExact = 9007199254740992.0;

bool is_integer(double value) {
  return std::abs(value) < kExact && value == std::floor(value);
}

}  // namespace

std::string exact_number(double value) {
  return is_integer(value) ? fmt::format("{}", static_cast<int64_t>(value))
                           : fmt::format("{}", value);
}

std::string grouped_number(double value) {
  std::string digits = is_integer(value) ? fmt::format("{}", static_cast<int64_t>(value))
                                         : fmt::format("{:.1f}", value);
  const size_t sign = digits[0] == '-' ? 1 : 0;
  const size_t point = std::min(digits.find('.'), digits.size());
  for (size_t place = point; place > sign + 3;) {
    place -= 3;
    digits.insert(place, ",");
  }
  return digits;
}

std::string measured_text(double value) {
  const bool small = !is_integer(value) && std::abs(value) < 10;
  return small ? fmt::format("{:.4g}", value) : grouped_number(value);
}

std::string energy_text(double picojoules) {
  constexpr const char* kUnits[] = {"pJ", "nJ", "uJ", "mJ", "J"};
  size_t unit = 0;
  while (picojoules >= 1000 && unit + 1 < std::size(kUnits)) {
    picojoules /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g} {}", picojoules, kUnits[unit]);
}

std::string speed_up_text(const RunTime& before, const RunTime& now) {
  const std::optional<double> times = times_as_fast(before, now);
  return times ? fmt::format("{:.2f}x", *times) : "";
}

std::string percent_change(double ratio) {
  if (ratio == 0) return "0%";
  const double percent = ratio * 100;
  return std::abs(percent) >= 1 ? fmt::format("{:+.1f}%", percent)
                                : fmt::format("{:+.2g}%", percent);
}

}  // namespace fuseflow
