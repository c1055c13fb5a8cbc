#include "explore/promise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "explore/programs.h"
#include "ir/names.h"
#include "support/error.h"

namespace fuseflow {

namespace {

/// Points of a kernel alone that are simulated early, with and without copies.
constexpr size_t kAlone = 4;

bool any_possible_with(const TrialTable& table, size_t kernel) {
  return std::any_of(table.trials().begin(), table.trials().end(), [&](const Trial& t) {
    return t.point.first <= kernel && t.point.last >= kernel && t.possible();
  });
}

std::string last_note(const TrialTable& table, size_t kernel) {
  std::string why = "no point";
  for (const size_t i : table.of({kernel, kernel})) {
    if (!table[i].note.empty()) why = table[i].note;
  }
  return why;
}

[[noreturn]] void throw_empty(const TrialTable& table, const Program& kernels,
                              const Machine& machine) {
  for (size_t k = 0; k < table.kernels(); ++k) {
    if (any_possible_with(table, k)) continue;
    throw Error(
        ExitCode::rejected, kernels.regions[k].where,
        fmt::format("the search space is empty: no region with kernel @{} is possible on "
                    "machine {}: {}",
                    quote_if_needed(kernels.regions[k].name), machine.name, last_note(table, k)));
  }
  throw Error(ExitCode::rejected,
              "the search space is empty: no partition into possible regions exists");
}

/// The most promising streams of each kernel alone, without copies and with: what fusion is
/// compared with is not left to chance when time is short.
std::set<size_t> first_alone(const TrialTable& table) {
  const IntervalCosts known = table.known_streams(true);
  const IntervalCosts without_copies = table.known_streams(false);
  std::map<std::pair<size_t, bool>, std::vector<std::pair<double, size_t>>> lists;
  for (size_t i = 0; i < table.trials().size(); ++i) {
    const Trial& t = table[i];
    const Interval run = t.point.kernels();
    if (!t.open() || !run.alone() || t.point.planned) continue;
    const bool copies = t.point.has_copies();
    if (t.bound >= (copies ? known : without_copies)[run]) continue;
    lists[{run.first, copies}].emplace_back(t.estimate, i);
  }
  std::set<size_t> result;
  for (auto& [kernel, list] : lists) {
    std::sort(list.begin(), list.end());
    for (size_t n = 0; n < std::min(list.size(), kAlone); ++n) result.insert(list[n].second);
  }
  return result;
}

/// The least estimate of a kernel alone as streams, simulated by now or not.
double least_of_streams(const TrialTable& table, size_t kernel) {
  double least = kNoCost;
  for (const size_t i : table.of({kernel, kernel})) {
    const Trial& t = table[i];
    if (t.possible() && !t.point.planned) least = std::min(least, t.estimate);
  }
  return least;
}

/// What is known, else what is estimated.
IntervalCosts expected_costs(const TrialTable& table) {
  return table.least([&](const Trial& t) {
    if (t.simulated()) return table.cost(t);
    return t.open() ? t.estimate : kNoCost;
  });
}

}  // namespace

std::vector<size_t> first_points(const TrialTable& table, const Program& kernels,
                                 const Machine& machine, const std::vector<Seed>& seeds) {
  const IntervalCosts estimates = table.estimates();
  const Partition best = table.partition(estimates);
  if (!std::isfinite(best.total())) throw_empty(table, kernels, machine);
  std::set<size_t> result;
  for (const Interval run : best.intervals()) {
    const std::vector<size_t>& all = table.of(run);
    const auto least = std::find_if(all.begin(), all.end(), [&](size_t i) {
      return table[i].open() && table[i].estimate == estimates[run];
    });
    if (least != all.end()) result.insert(*least);
  }
  for (size_t k = 0; k < table.kernels(); ++k) {
    const std::optional<size_t> least = table.best_estimate({k, k});
    if (least && table[*least].estimate <= least_of_streams(table, k)) result.insert(*least);
  }
  for (const Seed& seed : seeds) {
    const std::optional<TrialList> parts =
        trials_of(table, seed, [](const Trial& t) { return t.possible() ? t.estimate : kNoCost; });
    if (parts && share_copies(table, *parts)) result.insert(parts->begin(), parts->end());
  }
  std::erase_if(result, [&](size_t i) { return !table[i].open(); });
  return {result.begin(), result.end()};
}

std::vector<size_t> by_promise(const TrialTable& table) {
  const Partition best = table.partition(expected_costs(table));
  const std::set<size_t> alone = first_alone(table);
  std::vector<std::tuple<int, double, size_t>> keys;
  for (size_t i = 0; i < table.trials().size(); ++i) {
    const Trial& t = table[i];
    if (!t.open()) continue;
    const int turn = alone.count(i) > 0 ? 0 : t.point.seed.empty() ? 2 : 1;
    keys.emplace_back(turn, best.around(t.point.kernels()) + t.estimate, i);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<size_t> result;
  result.reserve(keys.size());
  for (const auto& [turn, estimate, i] : keys) result.push_back(i);
  return result;
}

}  // namespace fuseflow
