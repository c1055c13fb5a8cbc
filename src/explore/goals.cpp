#include "explore/goals.h"

#include <cmath>

#include "explore/front.h"

namespace fuseflow {

namespace {

/// At least: simulated trials as they are, and the bounds of those that may yet be chosen.
IntervalCosts least_bounds(const TrialTable& table) {
  return table.least([&](const Trial& t) {
    if (t.simulated()) return table.cost(t);
    const bool may_be =
        t.open() || t.status == PointStatus::failed || t.status == PointStatus::elsewhere;
    return may_be ? t.bound : kNone;
  });
}

double best_known(const TrialTable& table, const IntervalCosts& known) {
  if (table.objective() != Objective::edp) return table.partition(known).total();
  const auto front = pareto_front(table.trials(), table.kernels(), table.pause());
  const FrontProgram* best = least_edp(front);
  return best == nullptr ? kNone : cost_of(Objective::edp, best->amounts);
}

}  // namespace

Goals::Goals(const TrialTable& table)
    : table_(table),
      known_(table.known()),
      without_copies_(table.known_without_copies()),
      bounds_(table.partition(least_bounds(table))),
      incumbent_(best_known(table, known_)) {}

/// Whether the same kernels were simulated otherwise with no more cycles and no more energy than
/// the trial takes at least.
bool Goals::dominated(const Trial& trial, bool without_copies) const {
  const std::vector<size_t>& same = table_.of(trial.point.kernels());
  return std::any_of(same.begin(), same.end(), [&](size_t i) {
    const Trial& t = table_[i];
    const Amounts found = amounts_of(t.result);
    return t.simulated() && found.cycles <= trial.least.cycles &&
           found.energy_pj <= trial.least.energy_pj && !(without_copies && t.point.has_copies());
  });
}

Goal Goals::of(const Trial& trial) const {
  const Interval run = trial.point.kernels();
  const bool unfused = run.alone() && !trial.point.has_copies();
  Goal same{(unfused ? without_copies_ : known_)[run],
            "bound not below the same kernels otherwise"};
  if (table_.objective() == Objective::edp) {  // costs of regions do not add up
    same.cost = dominated(trial, unfused) ? 0 : kNone;
  }
  if (run.alone()) return same;
  const Goal whole{incumbent_ - bounds_.around(run), "bound not below the best program"};
  return whole.cost < same.cost ? whole : same;
}

int64_t cycles_to_beat(const Goal& goal, Objective objective) {
  const bool cuts = objective == Objective::cycles && std::isfinite(goal.cost);
  return cuts ? static_cast<int64_t>(std::ceil(goal.cost)) : 0;
}

}  // namespace fuseflow
