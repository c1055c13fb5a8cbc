#include "explore/sets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "estimate/pass_costs.h"
#include "ir/names.h"
#include "passes/effort.h"
#include "passes/store_search.h"
#include "support/unless_refused.h"

namespace fuseflow {

namespace {

/// FLOPs over those without recomputation, beyond which the set that is started from stores.
constexpr double kRecompute = 1.5;

/// Only what names tensors of the kernels, without copies made on the way.
bool is_point(const RunAlone& run, const StoreTrial& trial) {
  return std::isfinite(trial.cost.cycles) &&
         std::all_of(trial.schedule.placements.begin(), trial.schedule.placements.end(),
                     [&](const UsePlacement& use) {
                       return use.tensor < static_cast<TensorId>(run.slice.tensors.size());
                     });
}

/// Their schedules name tensors of the kernels.
std::vector<StoreTrial> searched(const RunAlone& run, const Machine& machine,
                                 const EstimatedCosts& learned) {
  EstimatedCosts whole(machine);
  whole.take_over(learned);
  SliceCosts costs(whole, run.slice.tensors);
  PlacementOptions options;
  options.max_recompute = kRecompute;
  options.scratchpad_bytes = machine.scratchpad.bytes;
  const Program placed = choose_placements(run.slice.program, run.region, options).program;
  const size_t statements = placed.regions[run.region].statements.size();
  std::vector<StoreTrial> judged =
      search_stores(placed, run.region, machine, &costs, store_effort(statements)).judged;
  std::erase_if(judged, [&](const StoreTrial& trial) { return !is_point(run, trial); });
  for (StoreTrial& trial : judged) to_whole(run.slice, trial.schedule);
  return judged;
}

}  // namespace

std::string name_of_set(const Program& program, const std::vector<UsePlacement>& placements) {
  std::vector<std::string> parts;
  for (const Placement where : {Placement::scratchpad, Placement::memory}) {
    std::vector<std::string> names;
    for (const UsePlacement& use : placements) {
      if (use.placement != where || use.consumer >= 0) continue;
      const Tensor& tensor = program.tensors[static_cast<size_t>(use.tensor)];
      names.push_back("%" + quote_if_needed(tensor.name));
    }
    std::sort(names.begin(), names.end());
    if (names.empty()) continue;
    parts.push_back(fmt::format("{}={}", fmt::join(names, " "), placement_name(where)));
  }
  parts.emplace_back("recompute");
  return fmt::format("{}", fmt::join(parts, ", "));
}

Point point_with_set(Interval run, const Machine& machine, StoredSet set) {
  Point point;
  point.first = run.first;
  point.last = run.last;
  point.recipe.name = std::move(set.name);
  point.recipe.options.recompute_always = true;
  point.recipe.options.scratchpad_bytes = machine.scratchpad.bytes;
  point.recipe.placements = std::move(set.placements);
  point.order = std::move(set.order);
  return point;
}

std::vector<Point> stored_sets(const Program& kernels, const KernelRuns& runs, Interval run,
                               const Machine& machine, const SearchSpace& space,
                               const EstimatedCosts& learned) {
  // None where no placement makes it one region.
  std::vector<StoreTrial> judged =
      unless_refused([&] { return searched(runs.make(run), machine, learned); });
  std::stable_sort(judged.begin(), judged.end(), [](const StoreTrial& a, const StoreTrial& b) {
    return a.cost.cycles < b.cost.cycles;
  });
  std::vector<Point> points;
  std::set<std::pair<std::string, std::vector<std::string>>> seen;
  for (StoreTrial& trial : judged) {
    if (points.size() >= space.max_placements) break;
    const std::string name = name_of_set(kernels, trial.schedule.placements);
    if (!seen.emplace(name, trial.schedule.order).second) continue;
    points.push_back(point_with_set(
        run, machine,
        {name, std::move(trial.schedule.placements), std::move(trial.schedule.order)}));
  }
  return points;
}

}  // namespace fuseflow
