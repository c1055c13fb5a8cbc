// Validators of numbers on the command line. CLI11's own name the largest number of the type in
// their messages, which for a double has 309 digits.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <string>

namespace fuseflow {

/// A number from `least` on, or above it.
template <typename Number>
CLI::Validator number_of(Number least, bool included) {
  const std::string expected =
      fmt::format("expected a {} {} {}", std::is_integral_v<Number> ? "whole number" : "number",
                  included ? "from" : "above", least);
  return CLI::Validator(
      [=](const std::string& text) {
        Number value = 0;
        const bool number = CLI::detail::lexical_cast(text, value);
        const bool fits = number && (included ? value >= least : value > least);
        return fits ? std::string() : fmt::format("`{}` is unusable, {}", text, expected);
      },
      "");
}

inline CLI::Validator number_from(double least) {
  return number_of(least, true);
}
inline CLI::Validator number_above(double least) {
  return number_of(least, false);
}
inline CLI::Validator whole_above(int64_t least) {
  return number_of(least, false);
}

}  // namespace fuseflow
