#include "explore/estimates.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <utility>

#include "explore/worth_trying.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/parallel_for.h"

namespace fuseflow {

namespace {

// Of the time budget.
constexpr double kEstimateShare = 0.4;
constexpr double kAll = 1;

void take_as_same(SearchState& s, Trial& trial, size_t position) {
  trial.status = PointStatus::same;
  Point& tried = s.table[position].point;
  trial.note = fmt::format("as point {}", tried.id);
  name_seed(tried, trial.point.seed);
}

/// Whether the trial is decided by what is known from before. Of equal graphs only the first was
/// estimated.
bool recall_estimate(SearchState& s, size_t position, std::map<uint64_t, size_t>& first) {
  Trial& trial = s.table[position];
  const auto& known = s.journal.memo().estimates;
  const auto found = known.find(trial.point.key);
  if (found == known.end()) return false;
  const EstimatedPoint& before = found->second;
  const auto same = first.find(before.graph);
  const bool equal = !before.refused && same != first.end();
  const bool estimated = before.graph != 0 && before.least.cycles > 0;
  if (!before.refused && !equal && !estimated) return false;
  trial.take_estimate(before, s.options.objective);
  if (equal) take_as_same(s, trial, same->second);
  if (!before.refused) first.try_emplace(trial.graph, position);
  return true;
}

/// `first`: the first position of each graph so far.
void estimate_trial(SearchState& s, size_t position, std::map<uint64_t, size_t>& first) {
  if (recall_estimate(s, position, first)) return;
  Trial& trial = s.table[position];
  try {
    const Evaluator::Lowered lowered = s.evaluator.lower(trial.point);
    trial.graph = lowered.fingerprint();
    const auto [same, fresh] = first.try_emplace(trial.graph, position);
    if (fresh) {
      s.evaluator.estimate(trial, lowered);
    } else {
      trial.region = lowered.name();
      take_as_same(s, trial, same->second);
    }
  } catch (const Error& error) {
    trial.status = PointStatus::refused;
    trial.note = error.what();
  }
  const std::optional<EstimatedPoint> estimated = trial.estimated();
  if (s.journal.keeps() && estimated) s.journal.append(memo_line(trial.point.key, *estimated));
}

/// Whether a point is estimated even though the time for that is over: one of each kernel, and what
/// seeds are.
bool is_needed(const SearchState& s, Interval run, const Trial& trial) {
  if (!run.alone()) return !trial.point.seed.empty() && !interrupted();
  const std::vector<size_t>& all = s.table.of(run);
  return std::none_of(all.begin(), all.end(),
                      [&](size_t i) { return s.table[i].graph != 0 && s.table[i].possible(); });
}

/// `share`: of the time budget, after which points that are not needed are left.
void estimate_run(SearchState& s, Interval run, double share) {
  std::map<uint64_t, size_t> first;
  for (const size_t i : s.table.of(run)) {
    Trial& trial = s.table[i];
    if (trial.graph != 0) {
      first.try_emplace(trial.graph, i);
    } else if (trial.open() && s.pace.out_of_time(share) && !is_needed(s, run, trial)) {
      trial.status = PointStatus::unvisited;
    } else if (trial.open()) {
      estimate_trial(s, i, first);
    }
  }
}

}  // namespace

void estimate_kernel(SearchState& s, size_t kernel) {
  estimate_run(s, {kernel, kernel}, kEstimateShare);
}

void estimate_runs(SearchState& s, const std::vector<Interval>& runs) {
  parallel_for(size_t{0}, runs.size(), [&](size_t i) {
    if (!interrupted()) estimate_run(s, runs[i], kAll);
  });
}

void estimate_fused(SearchState& s) {
  const std::vector<Interval> seeded = runs_of_seeds(s.seeds);
  const auto is_seed = [&](Interval run) {
    return std::binary_search(seeded.begin(), seeded.end(), run);
  };
  std::vector<Interval> runs = s.table.runs();
  std::erase_if(runs, [](Interval run) { return run.alone(); });
  std::stable_sort(runs.begin(), runs.end(), [&](Interval a, Interval b) {
    return std::pair(!is_seed(a), a.size()) < std::pair(!is_seed(b), b.size());
  });
  std::atomic<size_t> done = 0;
  parallel_for(size_t{0}, runs.size(), [&](size_t i) {
    estimate_run(s, runs[i], is_seed(runs[i]) ? kAll : kEstimateShare);
    s.pace.show(++done, runs.size(), "estimating");
  });
}

}  // namespace fuseflow
