// Numbers as people and as programs read them.
#pragma once

#include <string>

namespace fuseflow {

/// All digits, no separators: `3537035`, or the shortest decimal that reads back where it is no
/// integer.
std::string exact_number(double value);
/// Digits in groups of three: `3,537,035`; one decimal where it is no integer.
std::string grouped_number(double value);
/// Three digits in the unit that suits it: `1.23 mJ`.
std::string energy_text(double picojoules);
/// With sign; one decimal, or two digits where the change is below 1%: `-20.0%`, `+0.04%`, `0%`.
std::string percent_change(double ratio);

}  // namespace fuseflow
