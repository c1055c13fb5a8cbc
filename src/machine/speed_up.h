// How much faster one run is than another.
#pragma once

#include <optional>

namespace fuseflow {

/// What a run took: cycles of its machine's clock, and the time that these are, where it is known.
struct RunTime {
  std::optional<double> cycles, seconds;
};

/// How many times as fast `now` is as `before`: by their times, since clocks may differ; by their
/// cycles where either says no time. Nothing where one took none, or it is not known.
std::optional<double> times_as_fast(const RunTime& before, const RunTime& now);

/// Whether both runs say how long their cycles are, and these differ: then neither cycles nor what
/// is computed from them are compared.
bool clocks_differ(const RunTime& a, const RunTime& b);

}  // namespace fuseflow
