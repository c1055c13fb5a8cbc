#include "explore/trial_table.h"

namespace fuseflow {

void TrialTable::add(Trial trial) {
  by_run_[trial.point.kernels()].push_back(trials_.size());
  trials_.push_back(std::move(trial));
}

const std::vector<size_t>& TrialTable::of(Interval run) const {
  static const std::vector<size_t> none;
  const auto found = by_run_.find(run);
  return found == by_run_.end() ? none : found->second;
}

std::vector<Interval> TrialTable::runs() const {
  std::vector<Interval> result;
  for (const auto& [run, positions] : by_run_) result.push_back(run);
  return result;
}

std::optional<size_t> TrialTable::best_estimate(Interval run) const {
  const auto rank = [&](size_t i) {
    return std::pair(trials_[i].point.planned != nullptr, trials_[i].estimate);
  };
  std::optional<size_t> best;
  for (const size_t i : of(run)) {
    if (trials_[i].open() && (!best || rank(i) < rank(*best))) best = i;
  }
  return best;
}

IntervalCosts TrialTable::known() const {
  return least([&](const Trial& t) { return t.simulated() ? cost(t) : kNoCost; });
}

IntervalCosts TrialTable::known_streams(bool with_copies) const {
  return least([&](const Trial& t) {
    const bool counts = !t.point.planned && (with_copies || !t.point.has_copies());
    return t.simulated() && counts ? cost(t) : kNoCost;
  });
}

IntervalCosts TrialTable::estimates() const {
  return least([](const Trial& t) { return t.possible() ? t.estimate : kNoCost; });
}

}  // namespace fuseflow
