#include "explore/programs.h"

#include <algorithm>

namespace fuseflow {

namespace {

/// The copies that regions read though regions before them have read them, once for each region.
std::vector<InputCopy> read_again(const TrialTable& table, const TrialList& regions) {
  std::vector<InputCopy> made, again;
  for (const size_t i : regions) {
    for (const InputCopy& copy : table[i].copies) {
      const bool is_made = std::any_of(made.begin(), made.end(),
                                       [&](const InputCopy& other) { return copy.same_as(other); });
      (is_made ? again : made).push_back(copy);
    }
  }
  return again;
}

}  // namespace

std::optional<TrialList> trials_of(const TrialTable& table, const Seed& seed,
                                   const TrialCost& cost) {
  TrialList regions;
  for (const Seed::Part& part : seed.parts) {
    std::optional<size_t> least;
    for (const size_t i : table.of(part.kernels())) {
      const Trial& t = table[i];
      if (part.planned ? !is_of_seed(t.point, seed.name) : t.point.planned != nullptr) continue;
      if (t.point.seed.empty() || cost(t) == kNoCost) continue;
      if (!least || cost(t) < cost(table[*least])) least = i;
    }
    if (!least) return std::nullopt;
    regions.push_back(*least);
  }
  return regions;
}

Amounts amounts_together(const TrialTable& table, const TrialList& regions,
                         const std::function<Amounts(const Trial&)>& amounts) {
  Amounts sum;
  for (size_t r = 0; r < regions.size(); ++r) {
    sum += amounts(table[regions[r]]);
    if (r > 0) sum += table.pause();
  }
  for (const InputCopy& copy : read_again(table, regions)) sum -= amounts_of(copy.takes);
  return sum;
}

bool share_copies(const TrialTable& table, const TrialList& regions) {
  return !read_again(table, regions).empty();
}

}  // namespace fuseflow
