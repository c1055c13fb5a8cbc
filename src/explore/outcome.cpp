#include "explore/outcome.h"

#include <algorithm>
#include <cmath>

namespace fuseflow {

namespace {

/// Every region but a program's first has a pause before it.
void add_region(const TrialTable& table, Amounts& sum, size_t first_kernel, const Amounts& region) {
  sum += region;
  if (first_kernel > 0) sum += table.pause();
}

/// The kernel alone as streams, in the way that costs the least; as tiles where it has no streams.
const Trial* least_alone(const TrialTable& table, size_t kernel, bool with_copies) {
  const Trial* least = nullptr;
  for (const bool tiles : {false, true}) {
    for (const size_t i : table.of({kernel, kernel})) {
      const Trial& t = table[i];
      if (!t.simulated() || (t.point.planned != nullptr) != tiles) continue;
      if (t.point.has_copies() && !with_copies) continue;
      if (least == nullptr || table.cost(t) < table.cost(*least)) least = &t;
    }
    if (least != nullptr) break;
  }
  return least;
}

/// Of the kernels alone; zeros where one is not known.
Amounts sum_alone(const TrialTable& table, bool with_copies) {
  Amounts sum;
  for (size_t k = 0; k < table.kernels(); ++k) {
    const Trial* least = least_alone(table, k, with_copies);
    if (least == nullptr) return {};
    add_region(table, sum, k, amounts_of(least->result));
  }
  return sum;
}

/// Of a simulated point its cost, of others what they take at least; kNone: not tried.
double least_of(const TrialTable& table, const Trial& t) {
  if (t.simulated() || t.status == PointStatus::cut) return table.cost(t);
  return t.status == PointStatus::pruned ? t.bound : kNone;
}

/// The same as amounts: of what was cut, its cycles are known.
Amounts least_amounts(const Trial& t) {
  return t.status == PointStatus::pruned ? t.least : amounts_of(t.result);
}

/// The trial of a part of a seed without copies that takes the least: of streams any seed's, of
/// tiles its own; null: none was tried.
const Trial* least_of_part(const TrialTable& table, const Seed& seed, const Seed::Part& part) {
  const Trial* least = nullptr;
  for (const size_t i : table.of(part.kernels())) {
    const Trial& t = table[i];
    if (part.planned ? !is_of_seed(t.point, seed.name) : t.point.planned != nullptr) continue;
    if (t.point.seed.empty() || t.point.has_copies() || least_of(table, t) == kNone) continue;
    if (least == nullptr || least_of(table, t) < least_of(table, *least)) least = &t;
  }
  return least;
}

SeedTotal total_of(const TrialTable& table, const Seed& seed) {
  SeedTotal total{seed.name, 0, false};
  Amounts sum;
  for (const Seed::Part& part : seed.parts) {
    const Trial* least = least_of_part(table, seed, part);
    if (least == nullptr) return total;
    add_region(table, sum, part.first, least_amounts(*least));
    total.at_least = total.at_least || !least->simulated();
  }
  total.cost = cost_of(table.objective(), sum);
  return total;
}

/// The first simulated trial of the run that `wanted` takes.
template <typename Wanted>
size_t find_simulated(const TrialTable& table, Interval run, const Wanted& wanted) {
  const std::vector<size_t>& all = table.of(run);
  return *std::find_if(all.begin(), all.end(),
                       [&](size_t i) { return table[i].simulated() && wanted(table[i]); });
}

/// The regions of the program that costs the least; none where none is complete.
std::vector<size_t> best_trials(const TrialTable& table, const std::vector<FrontProgram>& front) {
  std::vector<size_t> chosen;
  if (table.objective() == Objective::edp) {
    const FrontProgram* best = least_edp(front);
    if (best == nullptr) return {};
    chosen.reserve(best->parts.size());
    for (const FrontProgram::Part& part : best->parts) {
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

Program assemble(const SearchState& s, const std::vector<size_t>& chosen) {
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
  const std::vector<size_t> chosen = best_trials(s.table, result.front);
  for (const size_t i : chosen) {
    Trial& trial = s.table[i];
    trial.best = true;
    add_region(s.table, result.best, trial.point.first, amounts_of(trial.result));
  }
  if (!chosen.empty()) result.program = assemble(s, chosen);
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
