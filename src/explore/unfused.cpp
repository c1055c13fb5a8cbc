#include "explore/unfused.h"

#include <fmt/format.h>

#include "explore/estimates.h"
#include "ir/names.h"
#include "support/error.h"
#include "support/interrupt.h"

namespace fuseflow {

namespace {

/// Only for its results.
void run_unbounded(SearchState& s, size_t kernel) {
  const Machine unbounded;
  Evaluator evaluator(s.kernels, unbounded, s.options.objective);
  evaluator.data = s.evaluator.data;
  Trial trial;
  trial.point.first = trial.point.last = kernel;
  const PointResult result = evaluator.simulate(trial, 0, &s.evaluator.data, s.options.threads);
  if (result.status != PointStatus::simulated && result.status != PointStatus::unvisited) {
    throw Error(ExitCode::unfinished,
                fmt::format("kernel @{} does not finish: {}",
                            quote_if_needed(s.kernels.regions[kernel].name), result.note));
  }
}

void run_trial(SearchState& s, Trial& trial) {
  trial.result = s.evaluator.simulate(trial, 0, &s.evaluator.data, s.options.threads);
  trial.take_status();
  const bool known = s.journal.has(trial.point.key) || trial.status == PointStatus::unvisited;
  if (!known) s.journal.append(trial.point.key, trial.result);
}

}  // namespace

void run_unfused(SearchState& s) {
  for (size_t k = 0; k < s.table.kernels() && !interrupted(); ++k) {
    s.pace.show(k, s.table.kernels(), "running the unfused program");
    estimate_kernel(s, k);
    const std::optional<size_t> best = s.table.best_estimate({k, k});
    if (best) run_trial(s, s.table[*best]);
    if (best && s.table[*best].status == PointStatus::unvisited) return;  // interrupted
    if (!best || !s.table[*best].simulated()) run_unbounded(s, k);
  }
}

}  // namespace fuseflow
