#include "explore/worth_trying.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace fuseflow {

namespace {

/// Runs of several kernels by what fusing them adds to the estimate; the least first.
std::vector<std::pair<double, Interval>> by_gain(const TrialTable& table) {
  const IntervalCosts least = table.estimates();
  std::vector<std::pair<double, Interval>> gains;
  for (size_t first = 0; first < table.kernels(); ++first) {
    double apart = least[{first, first}];
    for (size_t last = first + 1; last < first + least.longest(first); ++last) {
      apart += table.pause_cost() + least[{last, last}];
      const double together = least[{first, last}];
      if (std::isfinite(together)) gains.emplace_back(together - apart, Interval{first, last});
    }
  }
  std::sort(gains.begin(), gains.end());
  return gains;
}

}  // namespace

std::vector<Interval> kernels_alone(size_t kernels) {
  std::vector<Interval> runs;
  for (size_t k = 0; k < kernels; ++k) runs.push_back({k, k});
  return runs;
}

std::vector<Interval> runs_of_seeds(const std::vector<Seed>& seeds) {
  std::set<Interval> chosen;
  for (const Seed& seed : seeds) {
    for (const Seed::Part& part : seed.parts) {
      if (!part.kernels().alone()) chosen.insert(part.kernels());
    }
  }
  return {chosen.begin(), chosen.end()};
}

std::vector<Interval> worth_trying(const SearchState& s) {
  std::vector<Interval> chosen = runs_of_seeds(s.seeds);
  for (const auto& [gain, run] : by_gain(s.table)) {
    if (chosen.size() + s.table.kernels() >= s.options.space.max_climbs) break;
    if (std::find(chosen.begin(), chosen.end(), run) == chosen.end()) chosen.push_back(run);
  }
  return chosen;
}

}  // namespace fuseflow
