#include "passes/mixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>

#include "ir/names.h"
#include "passes/copies.h"
#include "passes/fit.h"
#include "passes/reused_inputs.h"
#include "passes/store_search.h"
#include "search/partition.h"
#include "search/stream_kernels.h"
#include "support/defect.h"
#include "support/unless_refused.h"

namespace fuseflow {

namespace {

constexpr double kRecompute[] = {kLittleRecompute, kMuchRecompute};
/// What fusing must gain, and computing much again instead of storing: an estimate is not exact,
/// the less the longer the paths that meet again are.
constexpr double kMixtureGain = 0.99;
constexpr double kRecomputeGain = 0.9;
/// What another partition may take, of the best one's cycles, to be searched, too: sets and orders
/// that are searched for its regions may make it the best.
constexpr double kMixtureNearlyAsGood = 1.05;
/// What kernels by themselves may take with the copies of a little effort, of the best one's
/// cycles, to be searched.
constexpr double kAloneReach = 3;
constexpr double kAloneEffort = 30'000;  ///< ... and that search
/// The same of partitions that copies may make faster than the one that is searched; they are other
/// suggestions and those into up to so many regions.
constexpr double kOthersReach = 1.25;
constexpr size_t kMostOthers = 3;
/// Of the effort that is left: copies for every run, before any is searched.
constexpr double kProbeShare = 0.1;
constexpr double kNever = std::numeric_limits<double>::infinity();

std::vector<Part> alone(size_t kernels) {
  std::vector<Part> parts;
  for (size_t k = 0; k < kernels; ++k) parts.push_back({k, k, ""});
  return parts;
}

std::vector<Group> groups_of(const Program& kernels, const std::vector<Part>& parts) {
  const std::vector<Group> present = present_groups(kernels);
  std::vector<Group> groups;
  for (const Part& part : parts) {
    groups.push_back({part.is_kernel() ? present[part.first].name : part.name, {}});
    for (size_t k = part.first; k <= part.last; ++k) {
      std::vector<int>& all = groups.back().statements;
      all.insert(all.end(), present[k].statements.begin(), present[k].statements.end());
    }
  }
  return groups;
}

/// What was found for a part by itself, for the region that it is in a whole program.
struct FoundSchedule {
  Schedule schedule;
  bool copies = false;  ///< it makes copies of tensors: of no use in other programs
  PassLog notes;
};

/// Of a part, what was made of its run.
FoundSchedule found_of(const RunAlone& run, PassLog notes) {
  FoundSchedule found{run.slice.program.regions[run.region].schedule, has_more_tensors(run.slice),
                      std::move(notes)};
  if (!found.copies) to_whole(run.slice, found.schedule);
  return found;
}

/// The default of a part, with notes.
FoundSchedule default_of(const PlacedRun& placed) {
  PassLog notes = placed.notes;
  notes.note_all(placed.in_turn);
  FoundSchedule found = found_of(placed.run, std::move(notes));
  if (placed.turns) found.schedule.barriers = true;
  return found;
}

/// Gives a region of a whole program its default: what was found for it alone, where it can.
void take_default(Candidate& made, size_t region, const Part& part, const FoundSchedule& found,
                  const Machine& machine, const PlacedRuns& placed) {
  if (found.copies) {
    placed.place(made.program, region, part, made.log);
    if (is_limited(machine)) make_fit(made.program, region, machine, made.log);
    return;
  }
  made.program.regions[region].schedule = found.schedule;
  made.log.note_all(found.notes);
}

std::vector<Interval> runs_of(const std::vector<PlannedPart>& planned) {
  std::vector<Interval> runs;
  runs.reserve(planned.size());
  for (const PlannedPart& part : planned) runs.push_back(part.kernels);
  return runs;
}

class PartSearch {
 public:
  PartSearch(const Program& kernels, const MixtureSpace& space, const Machine& machine,
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

  Mixtures run(const std::vector<std::vector<Part>>& suggested, SearchReach& reach) {
    double streams = 0;
    without_tiles([&] { streams = total_of(judge_runs(suggested)); });
    const std::vector<Part> best = partition();
    const double least = total_of(best);
    if (!reach.has(least)) return {};
    Mixtures mixtures;
    std::vector<Candidate>& found = mixtures.found;
    found.push_back(made_of(best));
    const auto search_from = [&](const std::vector<Part>& first) {
      search_all(first);
      found.push_back(made_of(first));
      add_best(found);
    };
    const bool in_reach =
        machine_.has_streams && SearchReach{least, reach.gained}.has(streams) &&
        (tiles_.empty() || is_near_with_copies(suggested.front(), kProbeReach * least));
    if (in_reach) {  // first as if there were no cores: having them never makes a program slower
      without_tiles([&] {
        const auto others = other_partitions(suggested, streams);
        search_from(suggested.front());
        const double gained = streams / total_of(partition());
        reach.gained = std::max(reach.gained, gained);
        // Kernels by themselves have more room for copies than runs of them.
        const double best_streams = std::min(total_of(partition()), least);
        if (max_copies_ > 1) search_alone(gained, best_streams, search_from, found);
        if (max_copies_ > 1) add_copied(others, best_streams, mixtures.copied);
        if (values_decide_) add_alone(best_streams, mixtures.alone);
      });
    }
    if (!in_reach || !tiles_.empty()) search_from(best);
    return mixtures;
  }

 private:
  struct JudgedPart {
    Part part;
    double cycles = kNever;
    bool searched = false;
    bool keeps_inputs = false;  ///< what it reads again from outside is on chip while it runs
    FoundSchedule found;        ///< by default, or by the search
    std::optional<FoundSchedule> second;  ///< of the search, where an estimate may be off
  };

  /// A run as planned for cores.
  struct JudgedTiles {
    double cycles = kNever;
    std::shared_ptr<const PlannedRun> planned;
  };

  static constexpr size_t kFew = 3;  ///< kernels of the runs that are tried first

  /// Judges runs of kernels as regions of streams; gives the best partition.
  std::vector<Part> judge_runs(const std::vector<std::vector<Part>>& suggested) {
    for (size_t k = 0; k < n_; ++k) add({k, k, ""});
    for (const std::vector<Part>& parts : suggested) {
      for (const Part& part : parts) add(part);
    }
    most_effort_ = costs_.effort() + kMixtureEffort;
    std::vector<Part> best = partition();
    for (size_t length = 2; length <= n_ && has_time(); ++length) {
      if (length > kFew) best = join_neighbours(std::move(best));
      for (size_t first = 0; first + length <= n_ && has_time(); ++first) {
        add({first, first + length - 1, ""});
      }
      best = partition();
    }
    return best;
  }

  /// Searches as if nothing were planned for cores.
  template <typename Search>
  void without_tiles(const Search& search) {
    std::map<Interval, JudgedTiles> tiles;
    std::swap(tiles, tiles_);
    search();
    std::swap(tiles, tiles_);
  }

  /// A run of streams with the copies of loops that a little effort finds.
  struct CopiedRun {
    double cycles = kNever;
    FoundSchedule found;
  };

  /// Runs of streams with copies, which gain most of what a search does; by default placements or,
  /// in more time, as judged. Nothing where their cycles are not known. `effort`: of all of them.
  std::optional<std::vector<CopiedRun>> with_copies(const std::vector<Part>& parts, bool as_judged,
                                                    double effort = kProbeEffort) {
    std::vector<CopiedRun> copied;
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

  /// Takes runs with copies as what was found for them, where they are faster.
  void take_copies(const std::vector<Part>& parts, std::vector<CopiedRun> runs) {
    for (size_t p = 0; p < parts.size(); ++p) {
      JudgedPart& judged = judged_.at(parts[p].kernels());
      if (runs[p].cycles >= judged.cycles || runs[p].found.copies) continue;
      judged.cycles = runs[p].cycles;
      judged.found = std::move(runs[p].found);
    }
  }

  double total_of(const std::vector<CopiedRun>& runs) const {
    double total = static_cast<double>(runs.size()) * costs_.pause();
    for (const CopiedRun& run : runs) total += run.cycles;
    return total;
  }

  /// Whether a partition takes at most so many cycles with copies. Where it is not known, or there
  /// are none: yes.
  bool is_near_with_copies(const std::vector<Part>& parts, double most) {
    if (max_copies_ == 1) return true;
    const std::optional<std::vector<CopiedRun>> copied = with_copies(parts, false);
    return !copied || total_of(*copied) <= most;
  }

  /// Partitions into few regions that take hardly more than `least` with one copy of each loop:
  /// other suggestions, and the best into each small number of regions.
  std::vector<std::vector<Part>> other_partitions(const std::vector<std::vector<Part>>& suggested,
                                                  double least) const {
    std::vector<std::vector<Part>> others;
    const auto offer = [&](std::vector<Part> parts) {
      const bool near = !parts.empty() && total_of(parts) <= kOthersReach * least;
      if (near && parts != suggested.front()) others.push_back(std::move(parts));
    };
    for (size_t s = 1; s < suggested.size(); ++s) offer(suggested[s]);
    IntervalCosts costs(n_);
    for (const auto& [run, judged] : judged_) costs[run] = judged.cycles;
    for (size_t regions = 2; regions <= kMostOthers && regions < n_; ++regions) {
      std::vector<Part> parts;
      for (const Interval run : best_partition_into(regions, costs)) {
        parts.push_back(judged_.at(run).part);
      }
      offer(std::move(parts));
    }
    return others;
  }

  /// Adds the partition that is fastest with copies, and the best one that has its regions: smaller
  /// ones have room for more copies. What was searched stays what it was.
  void add_copied(const std::vector<std::vector<Part>>& others, double cycles,
                  std::vector<Candidate>& found) {
    const std::vector<Part>* best = nullptr;
    std::vector<CopiedRun> runs;
    for (const std::vector<Part>& parts : others) {
      std::optional<std::vector<CopiedRun>> copied = with_copies(parts, true);
      if (!copied || (best != nullptr && total_of(*copied) >= total_of(runs))) continue;
      runs = std::move(*copied);
      best = &parts;
    }
    if (best == nullptr || total_of(runs) > kOthersReach * cycles) return;
    const std::map<Interval, JudgedPart> before = judged_;
    take_copies(*best, std::move(runs));
    found.push_back(made_of(*best));
    std::vector<Part> mixed = partition();
    if (mixed != *best) found.push_back(made_of(mixed));
    judged_ = before;
  }

  /// Searches the kernels by themselves where they may come below `cycles`: in full where what a
  /// search gained for runs of them makes up for it; else each with the copies of a little effort,
  /// and where these bring them near, searched a little.
  template <typename SearchFrom>
  void search_alone(double gained, double cycles, const SearchFrom& search_from,
                    std::vector<Candidate>& found) {
    const std::vector<Part> parts = alone(n_);
    if (total_of(parts) <= kMoreGain * gained * cycles) return search_from(parts);
    const double before = total_of(partition());
    std::optional<std::vector<CopiedRun>> copied = with_copies(parts, false);
    const bool near = !copied || total_of(*copied) <= kAloneReach * cycles;
    if (copied) take_copies(parts, *std::move(copied));
    most_effort_ = costs_.effort() + kAloneEffort;
    if ((near && search(parts)) || total_of(partition()) < before) add_best(found);
  }

  /// Adds the kernels by themselves, each in a good order: where values decide how much flows, what
  /// is fused may take far more than expected, and the given program may have poor orders. What was
  /// searched stays what it was.
  void add_alone(double cycles, std::vector<Candidate>& found) {
    const std::vector<Part> parts = alone(n_);
    const double total = total_of(parts);
    if (!std::isfinite(total) || total > kUnsure * cycles) return;
    const std::map<Interval, JudgedPart> before = judged_;
    most_effort_ = costs_.effort() + kAloneEffort;
    search(parts);
    found.push_back(made_of(parts));
    judged_ = before;
  }

  bool has_time() const { return costs_.effort() < most_effort_; }

  /// Judges a run as planned for cores; of several plans the fastest counts.
  void add(const PlannedPart& part) {
    const Part run{part.kernels.first, part.kernels.last, "", kLittleRecompute, true};
    std::vector<Part> parts = alone(n_);
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(run.first),
                parts.begin() + static_cast<std::ptrdiff_t>(run.last) + 1);
    parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(run.first), run);
    PassLog unused;
    const Program program = put_planned(regroup(kernels_, groups_of(kernels_, parts), unused),
                                        run.first, *part.planned);
    std::vector<size_t> regions;
    for (size_t i = 0; i < part.planned->size(); ++i) regions.push_back(run.first + i);
    const std::optional<Cost> cost = costs_.of_regions(program, regions);
    if (!cost) return;
    const double pauses = static_cast<double>(regions.size() - 1) * costs_.pause();
    JudgedTiles& judged = tiles_[run.kernels()];
    if (cost->cycles + pauses >= judged.cycles) return;
    judged = {cost->cycles + pauses, part.planned};
  }

  /// Whether a run may be one region of streams. A kernel that has a graph of tiles stays alone, as
  /// it is; so does one that cores can run where the machine has nothing else.
  bool may_stream(const Part& part) const {
    for (size_t k = part.first; k <= part.last; ++k) {
      if (is_fixed(k) ? !part.is_kernel() : !streams_[k]) return false;
    }
    return true;
  }
  bool is_fixed(size_t kernel) const { return has_tiles(kernels_.regions[kernel]); }

  /// Judges a run of kernels, with as little and with as much recomputation as there may be.
  void add(const Part& part) {
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
  bool judge(JudgedPart& judged) {
    return unless_refused([&] {  // no placement may make it one region
      const std::shared_ptr<const PlacedRun> placed = placed_.of(judged.part);
      judged.found = default_of(*placed);
      const bool stores = !judged.found.schedule.placements.empty();
      judge_from(*placed, judged);
      return stores;
    });
  }

  void judge_from(const PlacedRun& placed, JudgedPart& judged) {
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
  bool keep_inputs(RunAlone& run, PassLog& notes) {
    if (!machine_.scratchpad_counts()) return false;
    Program& program = run.slice.program;
    costs_.spend(kNodesOfStatement *
                 static_cast<double>(program.regions[run.region].statements.size()));
    return keep_all_reused(program, run.region, machine_, costs_.phases(), notes);
  }

  /// Cycles of the region of a part; where that is several kernels, what fusing must gain is added.
  double cycles_of(const RunAlone& run, const Part& part) {
    const std::optional<Cost> cost =
        costs_.of_slice(run.slice.program, run.slice.tensors, {run.region});
    if (!cost) return kNever;
    if (!cost->doubt.empty() && costs_.why_unknown().empty()) values_decide_ = true;
    return part.is_kernel() ? cost->cycles : cost->cycles / kMixtureGain;
  }

  /// Searches placements, orders and copies for the region of a run that was judged, in an effort
  /// that goes with its share of the `total` cycles.
  void search(JudgedPart& judged, double total) {
    judged.searched = true;
    const Part& part = judged.part;
    // A kernel alone that does not fit may do so in another order: there is nothing smaller.
    if (!std::isfinite(judged.cycles) && !part.is_kernel()) return;
    if (!may_stream(part)) return;
    const std::shared_ptr<const PlacedRun> placed =
        unless_refused([&] { return placed_.of(part); });
    if (!placed) return;
    RunAlone run = placed->run;
    SliceCosts costs(costs_, run.slice.tensors);
    PassLog placed_notes = placed->notes;
    if (judged.keeps_inputs) keep_inputs(run, placed_notes);
    PassLog notes;
    const double share = std::isfinite(total) ? judged.cycles / total : 1;
    const double own = share * store_effort(statements_of(part));
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
  std::optional<CopiedRegion> improve(Program& program, size_t region, const PassLog& placed,
                                      CostModel& costs, PassLog& log, double effort) const {
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

  /// Searches what is not yet of a partition, the slowest run first; gives whether there was
  /// anything. Where there is not time for all runs, each first gets the copies of a little effort.
  bool search(const std::vector<Part>& parts) {
    std::vector<Part> open = unsearched(parts);
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
  std::vector<Part> unsearched(const std::vector<Part>& parts) const {
    std::vector<Part> open;
    std::copy_if(parts.begin(), parts.end(), std::back_inserter(open), [&](const Part& part) {
      return !part.tiles && !judged_.at(part.kernels()).searched;
    });
    return open;
  }

  void probe(const std::vector<Part>& open) {
    std::vector<Part> known;
    double wanted = 0;
    for (const Part& part : open) {
      if (is_fixed(part.first) || !std::isfinite(judged_.at(part.kernels()).cycles)) continue;
      known.push_back(part);
      wanted += store_effort(statements_of(part));
    }
    const double left = most_effort_ - costs_.effort();
    if (max_copies_ == 1 || known.size() < 2 || wanted <= left) return;
    if (auto copied = with_copies(known, true, kProbeShare * left))
      take_copies(known, *std::move(copied));
  }

  size_t statements_of(const Part& part) const {
    size_t statements = 0;
    for (size_t k = part.first; k <= part.last; ++k)
      statements += kernels_.regions[k].statements.size();
    return statements;
  }

  /// Searches one partition that takes hardly more than the best one after another.
  void search_all(const std::vector<Part>& first) {
    most_effort_ = costs_.effort() + store_effort(statements_);
    search(first);
    most_effort_ = costs_.effort() + kOtherStoresEffort;
    for (bool any = true; any && has_time();) {
      any = false;
      for (const std::vector<Part>& parts : near(partition())) {
        any = search(parts);
        if (any) break;
      }
    }
  }

  /// A partition, those with two neighbours as one and those that lack one of its runs, the least
  /// first, if they take hardly more.
  std::vector<std::vector<Part>> near(const std::vector<Part>& best) {
    std::vector<std::pair<double, std::vector<Part>>> all;
    const double most = kMixtureNearlyAsGood * total_of(best);
    const auto offer = [&](std::vector<Part> parts) {
      const double total = total_of(parts);
      if (total <= most) all.emplace_back(total, std::move(parts));
    };
    offer(best);
    for (size_t p = 0; p < best.size(); ++p) {
      if (!best[p].is_kernel() || best[p].tiles) offer(partition(&best[p]));
      if (p + 1 == best.size() || !has_time() || !can_join(best[p], best[p + 1])) continue;
      std::vector<Part> joined = best;
      joined[p] = {best[p].first, best[p + 1].last, ""};
      joined.erase(joined.begin() + static_cast<std::ptrdiff_t>(p) + 1);
      add(joined[p]);
      offer(std::move(joined));
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::vector<Part>> result;
    result.reserve(all.size());
    for (auto& entry : all) result.push_back(std::move(entry.second));
    return result;
  }

  /// Neighbours that cores run better are not tried as one of streams.
  static bool can_join(const Part& a, const Part& b) { return !a.tiles && !b.tiles; }

  /// Adds the best partition, and where an estimate may be off, with the second best schedules.
  void add_best(std::vector<Candidate>& found) const {
    const std::vector<Part> best = partition();
    found.push_back(made_of(best));
    const bool any = std::any_of(best.begin(), best.end(), [&](const Part& part) {
      return !part.tiles && judged_.at(part.kernels()).second;
    });
    if (any) found.push_back(made_of(best, true));
  }

  /// The program of a partition into judged runs, as far as they are searched.
  Candidate made_of(const std::vector<Part>& parts, bool second = false) const {
    Candidate made;
    made.program = regroup(kernels_, groups_of(kernels_, parts), made.log);
    for (size_t r = 0; r < parts.size(); ++r) {
      if (!parts[r].tiles) give_schedule(made, r, judged_.at(parts[r].kernels()), second);
    }
    for (size_t r = parts.size(); r-- > 0;) {  // may become several regions
      if (parts[r].tiles) give_tiles(made, r, tiles_.at(parts[r].kernels()));
    }
    return made;
  }

  void give_schedule(Candidate& made, size_t r, const JudgedPart& judged, bool second) const {
    if (judged.part.is_kernel() && is_fixed(judged.part.first)) return;
    FoundSchedule found = second && judged.second ? *judged.second : judged.found;
    if (std::isfinite(judged.cycles) && judged.searched && found.copies) {
      PassLog notes;
      placed_.place(made.program, r, judged.part, notes);
      improve(made.program, r, notes, costs_, made.log, store_effort(statements_));
      return;
    }
    found.copies = found.copies || !std::isfinite(judged.cycles);
    take_default(made, r, judged.part, found, machine_, placed_);
  }

  static void give_tiles(Candidate& made, size_t r, const JudgedTiles& judged) {
    made.log.note(fmt::format("@{}: planned for cores, {:.0f} cycles",
                              quote_if_needed(made.program.regions[r].name), judged.cycles));
    made.program = put_planned(std::move(made.program), r, *judged.planned);
  }

  /// The partition of least total among what was judged, but for one run that it must not have; of
  /// equal ones that of fewer regions.
  std::vector<Part> partition(const Part* without = nullptr) const {
    std::vector<double> least(n_ + 1, kNever);  // of the first k kernels, a pause after each part
    std::vector<Part> ends(n_ + 1);
    least[0] = 0;
    auto tiles = tiles_.begin();
    const auto offer = [&](const Part& part, double cycles) {
      if (without != nullptr && part.kernels() == without->kernels() &&
          part.tiles == without->tiles) {
        return;
      }
      const double total = least[part.first] + cycles + costs_.pause();
      if (total > least[part.last + 1] || !std::isfinite(total)) return;
      least[part.last + 1] = total;
      ends[part.last + 1] = part;
    };
    for (const auto& [run, judged] : judged_) {  // by the first kernel
      for (; tiles != tiles_.end() && tiles->first < run; ++tiles)
        offer(part_of(*tiles), tiles->second.cycles);
      offer(judged.part, judged.cycles);
    }
    for (; tiles != tiles_.end(); ++tiles) offer(part_of(*tiles), tiles->second.cycles);
    std::vector<Part> parts;
    for (size_t k = n_; k > 0; k = parts.back().first) {
      if (!std::isfinite(least[k])) return alone(n_);
      parts.push_back(ends[k]);
    }
    std::reverse(parts.begin(), parts.end());
    return parts;
  }

  static Part part_of(const std::pair<const Interval, JudgedTiles>& tiles) {
    return {tiles.first.first, tiles.first.last, "", kLittleRecompute, true};
  }

  /// Cycles of a partition into judged runs.
  double total_of(const std::vector<Part>& parts) const {
    double total = 0;
    for (const Part& part : parts) {
      const double cycles =
          part.tiles ? tiles_.at(part.kernels()).cycles : judged_.at(part.kernels()).cycles;
      total += cycles + costs_.pause();
    }
    return total;
  }

  /// Judges neighbours of the best partition as one, until none of them is better as one.
  std::vector<Part> join_neighbours(std::vector<Part> best) {
    while (has_time()) {
      const size_t before = judged_.size();
      for (size_t p = 0; p + 1 < best.size() && has_time(); ++p) {
        if (can_join(best[p], best[p + 1])) add({best[p].first, best[p + 1].last, ""});
      }
      if (judged_.size() == before) break;
      best = partition();
    }
    return best;
  }

  const Program& kernels_;
  PlacedRuns& placed_;
  const Machine& machine_;
  CostModel& costs_;
  const size_t n_;
  const StreamKernels streams_;
  const int64_t max_copies_;  ///< of a loop
  size_t statements_ = 0;
  std::map<Interval, JudgedPart> judged_;
  std::map<Interval, JudgedTiles> tiles_;
  double most_effort_ = 0;
  bool values_decide_ = false;  ///< what some run takes: its estimate is in doubt
};

}  // namespace

std::vector<Part> parts_of(const Program& kernels, const std::vector<Group>& groups) {
  std::vector<size_t> kernel_of;  // by statement
  for (size_t k = 0; k < kernels.regions.size(); ++k) {
    kernel_of.insert(kernel_of.end(), kernels.regions[k].statements.size(), k);
  }
  std::vector<Part> parts;
  for (const Group& group : groups) {
    const auto [least, most] =
        std::minmax_element(group.statements.begin(), group.statements.end());
    Part part{kernel_of[*least], kernel_of[*most], group.name};
    size_t statements = 0;
    for (size_t k = part.first; k <= part.last; ++k) {
      statements += kernels.regions[k].statements.size();
    }
    if (statements != group.statements.size()) {
      throw Defect("region @" + group.name + " is no run of kernels");
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

Candidate assemble(const Program& kernels, const std::vector<Part>& parts, const Machine& machine,
                   PlacedRuns& placed) {
  Candidate made;
  made.program = regroup(kernels, groups_of(kernels, parts), made.log);
  for (size_t r = 0; r < parts.size(); ++r) {
    if (has_tiles(made.program.regions[r])) continue;
    take_default(made, r, parts[r], default_of(*placed.of(parts[r])), machine, placed);
  }
  return made;
}

Mixtures best_mixtures(const Program& kernels, const std::vector<std::vector<Part>>& suggested,
                       const MixtureSpace& space, const Machine& machine, CostModel& costs,
                       PlacedRuns& placed, SearchReach& reach) {
  return PartSearch(kernels, space, machine, costs, placed).run(suggested, reach);
}

}  // namespace fuseflow
