#include "explore/outcome.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "explore/programs.h"

namespace fuseflow {

namespace {

/// The kernel alone as streams, in the way that costs the least; as tiles where it has no streams.
std::optional<size_t> least_alone(const TrialTable& table, size_t kernel, bool with_copies) {
  std::optional<size_t> least;
  for (const bool tiles : {false, true}) {
    for (const size_t i : table.of({kernel, kernel})) {
      const Trial& t = table[i];
      if (!t.simulated() || (t.point.planned != nullptr) != tiles) continue;
      if (t.point.has_copies() && !with_copies) continue;
      if (!least || table.cost(t) < table.cost(table[*least])) least = i;
    }
    if (least) break;
  }
  return least;
}

Amounts simulated_amounts(const Trial& trial) {
  return amounts_of(trial.result);
}

/// The sum over all kernels, each alone in its best way; zeros where one of them is not known.
Amounts sum_alone(const TrialTable& table, bool with_copies) {
  TrialList kernels;
  for (size_t k = 0; k < table.kernels(); ++k) {
    const std::optional<size_t> least = least_alone(table, k, with_copies);
    if (!least) return {};
    kernels.push_back(*least);
  }
  return amounts_together(table, kernels, simulated_amounts);
}

/// The cost of a simulated point, a lower bound for others; kNoCost: the point was not tried.
double least_of(const TrialTable& table, const Trial& t) {
  if (t.simulated() || t.status == PointStatus::cut) return table.cost(t);
  return t.status == PointStatus::pruned ? t.bound : kNoCost;
}

/// Lower bounds of what a point takes. Of a point whose simulation was cut its cycles are known.
Amounts least_amounts(const Trial& t) {
  return t.status == PointStatus::pruned ? t.least : amounts_of(t.result);
}

SeedTotal total_of(const TrialTable& table, const Seed& seed) {
  SeedTotal total{seed.name, 0, false};
  const auto cost = [&](const Trial& t) { return least_of(table, t); };
  const std::optional<TrialList> parts = trials_of(table, seed, cost);
  if (!parts) return total;
  for (const size_t i : *parts) total.at_least = total.at_least || !table[i].simulated();
  total.cost = cost_of(table.objective(), amounts_together(table, *parts, least_amounts));
  return total;
}

/// The first simulated trial of the run that `wanted` takes.
template <typename Wanted>
size_t find_simulated(const TrialTable& table, Interval run, const Wanted& wanted) {
  const std::vector<size_t>& all = table.of(run);
  return *std::find_if(all.begin(), all.end(),
                       [&](size_t i) { return table[i].simulated() && wanted(table[i]); });
}

/// The regions that cost the least one by one; none where no program is complete.
TrialList best_apart(const TrialTable& table, const std::vector<ParetoProgram>& front) {
  TrialList chosen;
  if (table.objective() == Objective::edp) {
    const ParetoProgram* best = least_edp(front);
    if (best == nullptr) return {};
    chosen.reserve(best->parts.size());
    for (const ParetoProgram::Part& part : best->parts) {
      chosen.push_back(find_simulated(table, {part.first, part.last},
                                      [&](const Trial& t) { return t.point.id == part.point; }));
    }
    return chosen;
  }
  const IntervalCosts known = table.known();
  const Partition best = table.partition(known);
  if (!std::isfinite(best.total())) return {};
  for (const Interval run : best.intervals()) {
    chosen.push_back(
        find_simulated(table, run, [&](const Trial& t) { return table.cost(t) == known[run]; }));
  }
  return chosen;
}

/// The program that costs the least: that of the regions that do, or a seed, whose regions may
/// share copies.
TrialList best_trials(const SearchState& s, const std::vector<ParetoProgram>& front) {
  const TrialTable& table = s.table;
  const auto cost = [&](const TrialList& regions) {
    return cost_of(table.objective(), amounts_together(table, regions, simulated_amounts));
  };
  TrialList best = best_apart(table, front);
  for (const Seed& seed : s.seeds) {
    const std::optional<TrialList> parts = trials_of(
        table, seed, [&](const Trial& t) { return t.simulated() ? table.cost(t) : kNoCost; });
    if (parts && (best.empty() || cost(*parts) < cost(best))) best = *parts;
  }
  return best;
}

Program assemble(const SearchState& s, const TrialList& chosen) {
  std::vector<size_t> starts;
  starts.reserve(chosen.size());
  for (const size_t i : chosen) starts.push_back(s.table[i].point.first);
  Program program = s.evaluator.runs().partition(starts);
  for (const size_t i : chosen) {
    const Point& point = s.table[i].point;
    const size_t region = s.evaluator.runs().region_of(program, point.first);
    program = apply_point(std::move(program), region, point);
  }
  program.strategy = "explore";
  return program;
}

}  // namespace

void set_outcome(SearchState& s, SearchResult& result) {
  result.objective = s.options.objective;
  for (const Seed& seed : s.seeds) {
    if (seed.name != "none") result.seeds.push_back(total_of(s.table, seed));
  }
  if (s.options.space.max_copies > 1) result.unfused_copies = sum_alone(s.table, true);
  result.unfused = sum_alone(s.table, false);
  result.front = pareto_front(s.table.trials(), s.table.kernels(), s.table.pause());
  if (s.options.shards > 1) return;  // it does not know all
  const TrialList chosen = best_trials(s, result.front);
  if (chosen.empty()) return;
  for (const size_t i : chosen) s.table[i].best = true;
  result.best = amounts_together(s.table, chosen, simulated_amounts);
  result.program = assemble(s, chosen);
}

std::vector<std::string> unfinished_seeds(const SearchState& s) {
  const auto left_out = [&](const Seed::Part& part) {
    const std::vector<size_t>& all = s.table.of(part.kernels());
    return std::any_of(all.begin(), all.end(), [&](size_t i) {
      return s.table[i].status == PointStatus::unvisited && !s.table[i].point.seed.empty();
    });
  };
  std::vector<std::string> names;
  for (const Seed& seed : s.seeds) {
    if (std::any_of(seed.parts.begin(), seed.parts.end(), left_out)) names.push_back(seed.name);
  }
  return names;
}

}  // namespace fuseflow
