// Numbers as people and as programs read them.
#pragma once

#include <string>

#include "machine/speed_up.h"

namespace fuseflow {

/// All digits, no separators: `3537035`, or the shortest decimal that reads back where it is no
/// integer.
std::string exact_number(double value);
/// Digits in groups of three: `3,537,035`; one decimal where it is no integer.
std::string grouped_number(double value);
/// As grouped_number, but four digits of small fractions: seconds and energy-delay products are far
/// below one decimal.
std::string measured_text(double value);
/// Three digits in the unit that suits it: `1.23 mJ`.
std::string energy_text(double picojoules);
/// How many times as fast the second is: `1.33x`; empty where that is not known.
std::string speed_up_text(const RunTime& before, const RunTime& now);
/// With sign; one decimal, or two digits where the change is below 1%: `-20.0%`, `+0.04%`, `0%`.
std::string percent_change(double ratio);

}  // namespace fuseflow
