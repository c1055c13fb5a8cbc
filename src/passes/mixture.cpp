#include "passes/mixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "passes/effort.h"
#include "passes/fit.h"
#include "passes/store_search.h"

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

class PartSearch {
 public:
  PartSearch(const Program& kernels, const Machine& machine, CostModel& costs, PlacedRuns& placed)
      : kernels_(kernels),
        placed_(placed),
        machine_(machine),
        costs_(costs),
        n_(kernels.regions.size()) {
    for (const Region& region : kernels.regions) statements_ += region.statements.size();
  }

  std::vector<Candidate> run(const std::vector<std::vector<Part>>& suggested) {
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
    std::vector<Candidate> found;
    found.push_back(made_of(best));
    search_all(suggested.front());
    found.push_back(made_of(suggested.front()));
    found.push_back(made_of(partition()));
    return found;
  }

 private:
  struct JudgedPart {
    Part part;
    double cycles = kNever;
    bool searched = false;
    FoundSchedule found;  ///< by default, or by the search
  };

  static constexpr size_t kFew = 3;  ///< kernels of the runs that are tried first

  bool has_time() const { return costs_.effort() < most_effort_; }

  /// Judges a run of kernels, with as little and with as much recomputation as there may be.
  void add(const Part& part) {
    const auto [place, is_new] = judged_.try_emplace({part.first, part.last});
    if (!is_new) return;
    place->second.part = part;
    for (const double recompute : kRecompute) {
      Part tried = part;
      tried.max_recompute = recompute;
      FoundSchedule found;
      const double cycles = judge(tried, found);
      const double wanted = recompute > kRecompute[0] ? kRecomputeGain : 1;
      const bool stores = !found.schedule.placements.empty();
      if (cycles < wanted * place->second.cycles) {
        place->second.part = tried;
        place->second.cycles = cycles;
        place->second.found = std::move(found);
      }
      if (part.is_kernel() || !stores) return;  // nothing is left to compute again
    }
  }

  /// Cycles with the default placements, which are put into `found`.
  double judge(const Part& part, FoundSchedule& found) {
    try {
      const std::shared_ptr<const PlacedRun> placed = placed_.of(part);
      found = default_of(*placed);
      if (!placed->turns) return cycles_of(placed->run, part);
      RunAlone run = placed->run;
      run.slice.program.regions[run.region].schedule.barriers = true;
      return cycles_of(run, part);
    } catch (const Error& error) {
      if (error.code() == ExitCode::internal) throw;
      return kNever;  // no placement makes it one region
    }
  }

  /// Cycles of the region of a part; where that is several kernels, what fusing must gain is added.
  double cycles_of(const RunAlone& run, const Part& part) {
    const std::optional<Cost> cost =
        costs_.of_slice(run.slice.program, run.slice.tensors, {run.region});
    if (!cost) return kNever;
    return part.is_kernel() ? cost->cycles : cost->cycles / kMixtureGain;
  }

  /// Searches placements and orders for the region of a run that was judged.
  void search(JudgedPart& judged) {
    judged.searched = true;
    const Part& part = judged.part;
    if (!std::isfinite(judged.cycles)) return;
    const std::shared_ptr<const PlacedRun> placed = placed_.of(part);
    RunAlone run = placed->run;
    SliceCosts costs(costs_, run.slice.tensors);
    PassLog notes;
    const double own = store_effort(run.slice.program.regions[run.region].statements.size());
    improve(run.slice.program, run.region, placed->notes, costs, notes,
            std::min(own, most_effort_ - costs_.effort()));
    judged.cycles = std::min(judged.cycles, cycles_of(run, part));
    judged.found = found_of(run, std::move(notes));
  }

  /// `placed`: what is to be said of the placements that are there, if they stay.
  void improve(Program& program, size_t region, const PassLog& placed, CostModel& costs,
               PassLog& log, double effort) const {
    if (!improve_stores(program, region, machine_, &costs, log, effort)) log.note_all(placed);
    if (is_limited(machine_)) make_fit(program, region, machine_, log, &costs.phases());
  }

  /// Searches what is not yet of a partition; gives whether there was anything.
  bool search(const std::vector<Part>& parts) {
    bool any = false;
    for (const Part& part : parts) {
      JudgedPart& judged = judged_.at({part.first, part.last});
      if (judged.searched || !has_time()) continue;
      search(judged);
      any = true;
    }
    return any;
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
      if (!best[p].is_kernel()) offer(partition(&best[p]));
      if (p + 1 == best.size() || !has_time()) continue;
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

  /// The program of a partition into judged runs, as far as they are searched.
  Candidate made_of(const std::vector<Part>& parts) const {
    Candidate made;
    made.program = regroup(kernels_, groups_of(kernels_, parts), made.log);
    for (size_t r = 0; r < parts.size(); ++r) {
      const JudgedPart& judged = judged_.at({parts[r].first, parts[r].last});
      if (std::isfinite(judged.cycles) && judged.searched && judged.found.copies) {
        PassLog notes;
        placed_.place(made.program, r, judged.part, notes);
        improve(made.program, r, notes, costs_, made.log, store_effort(statements_));
      } else {
        FoundSchedule found = judged.found;
        found.copies = found.copies || !std::isfinite(judged.cycles);
        take_default(made, r, judged.part, found, machine_, placed_);
      }
    }
    return made;
  }

  /// The partition of least total among what was judged, but for one run that it must not have; of
  /// equal ones that of fewer regions.
  std::vector<Part> partition(const Part* without = nullptr) const {
    std::vector<double> least(n_ + 1, kNever);  // of the first k kernels, a pause after each part
    std::vector<const JudgedPart*> ends(n_ + 1, nullptr);
    least[0] = 0;
    for (const auto& [run, judged] : judged_) {  // by the first kernel
      if (without != nullptr && run == std::pair{without->first, without->last}) continue;
      const double total = least[run.first] + judged.cycles + costs_.pause();
      if (total > least[run.second + 1] || !std::isfinite(total)) continue;
      least[run.second + 1] = total;
      ends[run.second + 1] = &judged;
    }
    std::vector<Part> parts;
    for (size_t k = n_; k > 0; k = parts.back().first) {
      if (ends[k] == nullptr) return alone(n_);
      parts.push_back(ends[k]->part);
    }
    std::reverse(parts.begin(), parts.end());
    return parts;
  }

  /// Cycles of a partition into judged runs.
  double total_of(const std::vector<Part>& parts) const {
    double total = 0;
    for (const Part& part : parts) {
      total += judged_.at({part.first, part.last}).cycles + costs_.pause();
    }
    return total;
  }

  /// Judges neighbours of the best partition as one, until none of them is better as one.
  std::vector<Part> join_neighbours(std::vector<Part> best) {
    while (has_time()) {
      const size_t before = judged_.size();
      for (size_t p = 0; p + 1 < best.size() && has_time(); ++p) {
        add({best[p].first, best[p + 1].last, ""});
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
  size_t statements_ = 0;
  std::map<std::pair<size_t, size_t>, JudgedPart> judged_;  ///< by first and last kernel
  double most_effort_ = 0;
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
      throw Error(ExitCode::internal, "region @" + group.name + " is no run of kernels");
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
    take_default(made, r, parts[r], default_of(*placed.of(parts[r])), machine, placed);
  }
  return made;
}

std::vector<Candidate> best_mixtures(const Program& kernels,
                                     const std::vector<std::vector<Part>>& suggested,
                                     const Machine& machine, CostModel& costs, PlacedRuns& placed) {
  return PartSearch(kernels, machine, costs, placed).run(suggested);
}

}  // namespace fuseflow
