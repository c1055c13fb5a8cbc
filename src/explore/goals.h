// What a point has to beat to be simulated, from what is known of all points. Simulates nothing.
#pragma once

#include "explore/trial_table.h"

namespace fuseflow {

struct Goal {
  double cost = kNoCost;
  const char* why = "";  ///< for the note of a point whose bound is not below the cost
};

class Goals {
 public:
  /// The costs to beat by the table's present results. Not to be used after the table has changed.
  explicit Goals(const TrialTable& table);

  /// What the best program takes that simulated points make; kNoCost: none does.
  double incumbent() const { return incumbent_; }
  /// The best program so far, and the same kernels as placed before. Of a kernel alone the best is
  /// needed anyway, as streams, without copies too: the unfused totals are made of it.
  Goal of(const Trial& trial) const;

 private:
  /// Whether the same kernels were simulated otherwise with no more cycles and no more energy than
  /// the trial takes at least.
  bool dominated(const Trial& trial) const;
  /// What the same kernels take otherwise.
  double known(const Trial& trial) const;

  const TrialTable& table_;
  const IntervalCosts known_, streams_, without_copies_;
  const Partition bounds_;  ///< of what the best program may take at least
  const double incumbent_;
};

/// In cycles, for the run itself: it can be cut by its cycles alone. 0: it goes on to its end.
int64_t cycles_to_beat(const Goal& goal, Objective objective);

}  // namespace fuseflow
