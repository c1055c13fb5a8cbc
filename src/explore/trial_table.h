// The trials of a search, found by run of kernels, and the least costs among them in the search's
// objective. Everything else in a search reads and fills this table; it knows nothing of what is
// tried, when, or why.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "explore/trial.h"
#include "search/partition.h"

namespace fuseflow {

class TrialTable {
 public:
  TrialTable(size_t kernels, const Machine& machine, Objective objective)
      : kernels_(kernels), objective_(objective), pause_(pause_of(machine)) {}

  size_t kernels() const { return kernels_; }
  Objective objective() const { return objective_; }
  /// Between two regions.
  const Amounts& pause() const { return pause_; }
  double pause_cost() const { return cost_of(objective_, pause_); }

  /// Positions do not change; references to trials do not outlast this.
  void add(Trial trial);
  std::vector<Trial>& trials() { return trials_; }
  const std::vector<Trial>& trials() const { return trials_; }
  Trial& operator[](size_t position) { return trials_[position]; }
  const Trial& operator[](size_t position) const { return trials_[position]; }
  /// Positions of the trials of this run of kernels, in the order in which they were added.
  const std::vector<size_t>& of(Interval run) const;
  /// All runs that have trials.
  std::vector<Interval> runs() const;

  /// The open trial of streams of least estimate; of tiles where there is none.
  std::optional<size_t> best_estimate(Interval run) const;

  /// What a trial takes that was run.
  double cost(const Trial& trial) const { return cost_of(objective_, amounts_of(trial.result)); }
  /// The least of `cost(trial)` for each run of kernels.
  template <typename Cost>
  IntervalCosts least(const Cost& cost) const {
    IntervalCosts result(kernels_);
    for (const Trial& t : trials_) {
      double& entry = result[t.point.kernels()];
      entry = std::min(entry, cost(t));
    }
    return result;
  }
  IntervalCosts known() const;  ///< of simulated trials
  /// Costs of the simulated trials that run as streams; those of tiles do not count.
  IntervalCosts known_streams(bool with_copies) const;
  IntervalCosts estimates() const;  ///< estimates of the trials that are possible
  /// The best partition of all kernels into runs by these costs, pauses between regions included.
  Partition partition(const IntervalCosts& costs) const { return {costs, pause_cost()}; }

 private:
  size_t kernels_;
  Objective objective_;
  Amounts pause_;
  std::vector<Trial> trials_;
  std::map<Interval, std::vector<size_t>> by_run_;
};

}  // namespace fuseflow
