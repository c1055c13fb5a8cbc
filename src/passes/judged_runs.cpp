#include "passes/judged_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "ir/names.h"
#include "passes/effort.h"
#include "passes/fit.h"
#include "passes/reused_inputs.h"
#include "passes/store_search.h"
#include "support/unless_refused.h"

namespace fuseflow {

namespace {

constexpr double kRecompute[] = {kLittleRecompute, kMuchRecompute};
/// What fusing must gain, and computing much again instead of storing: an estimate is not exact,
/// the less the longer the paths that meet again are.
constexpr double kMixtureGain = 0.99;
constexpr double kRecomputeGain = 0.9;
/// Of the effort that is left: copies for every run, before any is searched.
constexpr double kProbeShare = 0.1;

std::vector<Interval> runs_of(const std::vector<PlannedPart>& planned) {
  std::vector<Interval> runs;
  runs.reserve(planned.size());
  for (const PlannedPart& part : planned) runs.push_back(part.kernels);
  return runs;
}

Part tiles_part(Interval run) {
  return {run.first, run.last, "", kLittleRecompute, true};
}

}  // namespace

JudgedRuns::JudgedRuns(const Program& kernels, const MixtureSpace& space, const Machine& machine,
                       CostModel& costs, PlacedRuns& placed)
    : kernels_(kernels),
      placed_(placed),
      machine_(machine),
      costs_(costs),
      n_(kernels.regions.size()),
      streams_(left_to_streams(kernels, machine, runs_of(space.planned))),
      max_copies_(has_counted_units(machine) ? space.max_copies : 1) {
  for (const Region& region : kernels.regions) statements_ += region.statements.size();
  for (const PlannedPart& part : space.planned) add(part);
}

/// Judges a run as planned for cores; of several plans the fastest counts.
void JudgedRuns::add(const PlannedPart& part) {
  const Part run = tiles_part(part.kernels);
  const RunAlone alone = placed_.unplaced(run);
  const Program program =
      put_planned(alone.slice.program, alone.region, in_slice(*part.planned, alone.slice));
  std::vector<size_t> regions;
  for (size_t i = 0; i < part.planned->size(); ++i) regions.push_back(alone.region + i);
  const std::optional<Cost> cost = costs_.of_slice(program, alone.slice.tensors, regions);
  if (!cost) return;
  const double pauses = static_cast<double>(regions.size() - 1) * costs_.pause();
  JudgedTiles& judged = tiles_[run.kernels()];
  if (cost->cycles + pauses >= judged.cycles) return;
  judged = {cost->cycles + pauses, part.planned};
}

/// Whether a run may be one region of streams. A kernel that has a graph of tiles stays alone, as
/// it is; so does one that cores can run where the machine has nothing else.
bool JudgedRuns::may_stream(const Part& part) const {
  for (size_t k = part.first; k <= part.last; ++k) {
    if (is_fixed(k) ? !part.is_kernel() : !streams_[k]) return false;
  }
  return true;
}

bool JudgedRuns::is_fixed(size_t kernel) const {
  return fuseflow::has_tiles(kernels_.regions[kernel]);
}

void JudgedRuns::add(const Part& part) {
  const auto [place, is_new] = judged_.try_emplace(part.kernels());
  if (!is_new) return;
  place->second.part = part;
  if (!may_stream(part)) return;
  if (is_fixed(part.first)) {
    place->second.searched = true;
    const std::optional<Cost> cost = costs_.of_region(kernels_, part.first);
    if (cost) place->second.cycles = cost->cycles;
    return;
  }
  for (const double recompute : kRecompute) {
    JudgedPart tried;
    tried.part = part;
    tried.part.max_recompute = recompute;
    const bool stores = judge(tried);
    const double wanted = recompute > kRecompute[0] ? kRecomputeGain : 1;
    if (tried.cycles < wanted * place->second.cycles) place->second = std::move(tried);
    if (part.is_kernel() || !stores) return;  // nothing is left to compute again
  }
}

/// Cycles with the default placements, and with what is read again on chip, if that is faster.
/// Gives whether anything is placed by default.
bool JudgedRuns::judge(JudgedPart& judged) {
  return unless_refused([&] {  // no placement may make it one region
    const std::shared_ptr<const PlacedRun> placed = placed_.of(judged.part);
    judged.found = default_of(*placed);
    const bool stores = !judged.found.schedule.placements.empty();
    judge_from(*placed, judged);
    return stores;
  });
}

void JudgedRuns::judge_from(const PlacedRun& placed, JudgedPart& judged) {
  RunAlone run = placed.run;
  if (placed.turns) run.slice.program.regions[run.region].schedule.barriers = true;
  judged.cycles = cycles_of(run, judged.part);
  PassLog notes = judged.found.notes;
  if (!keep_inputs(run, notes)) return;
  const double cycles = cycles_of(run, judged.part);
  if (cycles >= judged.cycles) return;
  judged.cycles = cycles;
  judged.keeps_inputs = true;
  judged.found = found_of(run, std::move(notes));
}

/// Keeps what a run reads again from outside on chip, where that may gain anything. Gives
/// whether there is any.
bool JudgedRuns::keep_inputs(RunAlone& run, PassLog& notes) const {
  if (!machine_.scratchpad_counts()) return false;
  Program& program = run.slice.program;
  costs_.spend(kNodesOfStatement *
               static_cast<double>(program.regions[run.region].statements.size()));
  return keep_all_reused(program, run.region, machine_, costs_.phases(), notes);
}

/// Cycles of the region of a part; where that is several kernels, what fusing must gain is added.
double JudgedRuns::cycles_of(const RunAlone& run, const Part& part) {
  const std::optional<Cost> cost =
      costs_.of_slice(run.slice.program, run.slice.tensors, {run.region});
  if (!cost) return kNoCost;
  if (!cost->doubt.empty() && costs_.why_unknown().empty()) values_decide_ = true;
  return part.is_kernel() ? cost->cycles : cost->cycles / kMixtureGain;
}

bool JudgedRuns::search(const Parts& parts) {
  Parts open;
  std::copy_if(parts.begin(), parts.end(), std::back_inserter(open), [&](const Part& part) {
    return !part.tiles && !judged_.at(part.kernels()).searched;
  });
  if (!has_time() || open.empty()) return false;
  probe(open);
  std::stable_sort(open.begin(), open.end(), [&](const Part& a, const Part& b) {
    return judged_.at(a.kernels()).cycles > judged_.at(b.kernels()).cycles;
  });
  for (const Part& part : open) {
    if (has_time()) search(judged_.at(part.kernels()), total_of(parts));
  }
  return true;
}

void JudgedRuns::probe(const Parts& open) {
  Parts known;
  double wanted = 0;
  for (const Part& part : open) {
    if (is_fixed(part.first) || !std::isfinite(judged_.at(part.kernels()).cycles)) continue;
    known.push_back(part);
    wanted += store_effort(statements_of(kernels_, part));
  }
  const double left = most_effort_ - costs_.effort();
  if (max_copies_ == 1 || known.size() < 2 || wanted <= left) return;
  if (auto copied = with_copies(known, true, kProbeShare * left))
    take_copies(known, *std::move(copied));
}

/// Searches placements, orders and copies for the region of a run that was judged, in an effort
/// that goes with its share of the `total` cycles.
void JudgedRuns::search(JudgedPart& judged, double total) {
  judged.searched = true;
  const Part& part = judged.part;
  // A kernel alone that does not fit may do so in another order: there is nothing smaller.
  if (!std::isfinite(judged.cycles) && !part.is_kernel()) return;
  if (!may_stream(part)) return;
  const std::shared_ptr<const PlacedRun> placed = unless_refused([&] { return placed_.of(part); });
  if (!placed) return;
  RunAlone run = placed->run;
  SliceCosts costs(costs_, run.slice.tensors);
  PassLog placed_notes = placed->notes;
  if (judged.keeps_inputs) keep_inputs(run, placed_notes);
  PassLog notes;
  const double share = std::isfinite(total) ? judged.cycles / total : 1;
  const double own = share * store_effort(statements_of(kernels_, part));
  std::optional<CopiedRegion> second =
      improve(run.slice.program, run.region, placed_notes, costs, notes,
              std::min(own, most_effort_ - costs_.effort()));
  const double cycles = cycles_of(run, part);
  if (cycles > judged.cycles) return;  // it was probed with better copies
  judged.cycles = cycles;
  judged.found = found_of(run, std::move(notes));
  if (!second) return;
  run.slice.program = std::move(second->program);
  judged.second = found_of(run, std::move(second->notes));
}

/// Searches a region; gives what is nearly as good. `placed`: what is to be said of the
/// placements that are there, if they stay.
std::optional<CopiedRegion> JudgedRuns::improve(Program& program, size_t region,
                                                const PassLog& placed, CostModel& costs,
                                                PassLog& log, double effort) const {
  const double begun = costs.effort();
  if (!improve_stores(program, region, machine_, &costs, log, effort)) log.note_all(placed);
  if (is_limited(machine_)) make_fit(program, region, machine_, log, &costs.phases());
  if (max_copies_ == 1) return std::nullopt;
  const double left = std::max(kCopiesShare * effort, effort - (costs.effort() - begun));
  std::vector<CopiedRegion> tried =
      copies_of_region({program, log, {}}, region, {max_copies_, left}, costs);
  program = std::move(tried[0].program);
  log = std::move(tried[0].notes);
  const bool near = tried.size() > 1 && tried[1].cost && tried[0].cost &&
                    tried[1].cost->cycles <= kUnsure * tried[0].cost->cycles;
  return near ? std::optional(std::move(tried[1])) : std::nullopt;
}

std::optional<CopiedRuns> JudgedRuns::with_copies(const Parts& parts, bool as_judged,
                                                  double effort) {
  CopiedRuns copied;
  for (const Part& part : parts) {
    const JudgedPart& judged = judged_.at(part.kernels());
    if (!std::isfinite(judged.cycles) || is_fixed(part.first)) return std::nullopt;
    const std::shared_ptr<const PlacedRun> placed = placed_.of(judged.part);
    RunAlone run = placed->run;
    SliceCosts costs(costs_, run.slice.tensors);
    PassLog notes = placed->notes;
    if (as_judged && judged.keeps_inputs) keep_inputs(run, notes);
    const CopyLimits limits{max_copies_, effort / static_cast<double>(parts.size())};
    choose_copies_of(run.slice.program, run.region, limits, costs, notes);
    const double cycles = cycles_of(run, judged.part);
    copied.push_back(cycles < judged.cycles ? CopiedRun{cycles, found_of(run, std::move(notes))}
                                            : CopiedRun{judged.cycles, judged.found});
  }
  return copied;
}

void JudgedRuns::take_copies(const Parts& parts, CopiedRuns runs) {
  for (size_t p = 0; p < parts.size(); ++p) {
    JudgedPart& judged = judged_.at(parts[p].kernels());
    if (runs[p].cycles >= judged.cycles || runs[p].found.copies) continue;
    judged.cycles = runs[p].cycles;
    judged.found = std::move(runs[p].found);
  }
}

double JudgedRuns::total_of(const CopiedRuns& runs) const {
  double total = static_cast<double>(runs.size()) * costs_.pause();
  for (const CopiedRun& run : runs) total += run.cycles;
  return total;
}

double JudgedRuns::total_of(const Parts& parts) const {
  double total = 0;
  for (const Part& part : parts) {
    const double cycles =
        part.tiles ? tiles_.at(part.kernels()).cycles : judged_.at(part.kernels()).cycles;
    total += cycles + costs_.pause();
  }
  return total;
}

Candidate JudgedRuns::made_of(const Parts& parts, bool second) const {
  Candidate made;
  made.program = regrouped(kernels_, parts, made.log);
  for (size_t r = 0; r < parts.size(); ++r) {
    if (!parts[r].tiles) give_schedule(made, r, judged_.at(parts[r].kernels()), second);
  }
  for (size_t r = parts.size(); r-- > 0;) {  // may become several regions
    if (!parts[r].tiles) continue;
    const JudgedTiles& tiles = tiles_.at(parts[r].kernels());
    made.log.note(fmt::format("@{}: planned for cores, {:.0f} cycles",
                              quote_if_needed(made.program.regions[r].name), tiles.cycles));
    made.program = put_planned(std::move(made.program), r, *tiles.planned);
  }
  return made;
}

void JudgedRuns::give_schedule(Candidate& made, size_t r, const JudgedPart& judged,
                               bool second) const {
  if (judged.part.is_kernel() && is_fixed(judged.part.first)) return;
  FoundSchedule found = second && judged.second ? *judged.second : judged.found;
  if (std::isfinite(judged.cycles) && judged.searched && found.copies) {
    PassLog notes;
    placed_.place(made.program, r, judged.part, notes);
    improve(made.program, r, notes, costs_, made.log, store_effort(statements_));
    return;
  }
  found.copies = found.copies || !std::isfinite(judged.cycles);
  take_found(made, r, judged.part, found, machine_, placed_);
}

IntervalCosts JudgedRuns::stream_costs() const {
  IntervalCosts costs(n_);
  for (const auto& [run, judged] : judged_) costs[run] = judged.cycles;
  return costs;
}

Parts JudgedRuns::best(const Part* without) const {
  IntervalCosts costs = stream_costs();
  if (without != nullptr && !without->tiles) costs[without->kernels()] = kNoCost;
  std::set<Interval> on_cores;
  for (const auto& [run, tiles] : tiles_) {
    if (without != nullptr && without->tiles && run == without->kernels()) continue;
    if (tiles.cycles > costs[run]) continue;
    costs[run] = tiles.cycles;
    on_cores.insert(run);
  }
  Parts parts;
  for (const Interval run : Partition(costs, costs_.pause()).intervals()) {
    parts.push_back(on_cores.count(run) > 0 ? tiles_part(run) : judged_.at(run).part);
  }
  return parts.empty() ? each_alone(n_) : parts;
}

Parts JudgedRuns::best_into(size_t regions) const {
  Parts parts;
  for (const Interval run : best_partition_into(regions, stream_costs())) {
    parts.push_back(judged_.at(run).part);
  }
  return parts;
}

bool JudgedRuns::has_second(const Parts& parts) const {
  return std::any_of(parts.begin(), parts.end(), [&](const Part& part) {
    return !part.tiles && judged_.at(part.kernels()).second;
  });
}

}  // namespace fuseflow
