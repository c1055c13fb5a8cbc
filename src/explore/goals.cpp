#include "explore/goals.h"

#include <cmath>

#include "explore/pareto.h"

namespace fuseflow {

namespace {

/// At least: simulated trials as they are, and the bounds of those that may yet be chosen.
IntervalCosts least_bounds(const TrialTable& table) {
  return table.least([&](const Trial& t) {
    if (t.simulated()) return table.cost(t);
    const bool may_be =
        t.open() || t.status == PointStatus::failed || t.status == PointStatus::elsewhere;
    return may_be ? t.bound : kNoCost;
  });
}

/// A kernel alone as streams: the unfused totals, without copies and with, are made of such.
bool competes_alone(const Trial& trial) {
  return trial.point.kernels().alone() && !trial.point.planned;
}

double best_known(const TrialTable& table, const IntervalCosts& known) {
  if (table.objective() != Objective::edp) return table.partition(known).total();
  const auto front = pareto_front(table.trials(), table.kernels(), table.pause());
  const ParetoProgram* best = least_edp(front);
  return best == nullptr ? kNoCost : cost_of(Objective::edp, best->amounts);
}

}  // namespace

Goals::Goals(const TrialTable& table)
    : table_(table),
      known_(table.known()),
      streams_(table.known_streams(true)),
      without_copies_(table.known_streams(false)),
      bounds_(table.partition(least_bounds(table))),
      incumbent_(best_known(table, known_)) {}

bool Goals::dominated(const Trial& trial) const {
  const bool alone = competes_alone(trial);
  const bool copies = trial.point.has_copies();
  const std::vector<size_t>& same = table_.of(trial.point.kernels());
  return std::any_of(same.begin(), same.end(), [&](size_t i) {
    const Trial& t = table_[i];
    if (alone && (t.point.planned || (t.point.has_copies() && !copies))) return false;
    const Amounts found = amounts_of(t.result);
    return t.simulated() && found.cycles <= trial.least.cycles &&
           found.energy_pj <= trial.least.energy_pj;
  });
}

double Goals::known(const Trial& trial) const {
  const Interval run = trial.point.kernels();
  if (!competes_alone(trial)) return known_[run];
  return trial.point.has_copies() ? streams_[run] : without_copies_[run];
}

Goal Goals::of(const Trial& trial) const {
  const Interval run = trial.point.kernels();
  Goal same{known(trial), "its lower bound is not below another point of the same kernels"};
  if (table_.objective() == Objective::edp) {  // costs of regions do not add up
    same.cost = dominated(trial) ? 0 : kNoCost;
  }
  if (run.alone()) return same;
  const Goal whole{incumbent_ - bounds_.around(run),
                   "its lower bound is not below the best program known"};
  return whole.cost < same.cost ? whole : same;
}

int64_t cycles_to_beat(const Goal& goal, Objective objective) {
  const bool cuts = objective == Objective::cycles && std::isfinite(goal.cost);
  return cuts ? static_cast<int64_t>(std::ceil(goal.cost)) : 0;
}

}  // namespace fuseflow
