#include "passes/mixture.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace fuseflow {

namespace {

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

class PartitionSearch {
 public:
  PartitionSearch(const Program& kernels, const MixtureSpace& space, const Machine& machine,
                  CostModel& costs, PlacedRuns& placed)
      : n_(kernels.regions.size()),
        machine_(machine),
        runs_(kernels, space, machine, costs, placed) {}

  Mixtures run(const std::vector<Parts>& suggested, SearchReach& reach) {
    double streams = 0;
    runs_.without_tiles([&] { streams = runs_.total_of(judge_runs(suggested)); });
    const Parts best = runs_.best();
    const double least = runs_.total_of(best);
    if (!reach.has(least)) return {};
    result_.found.push_back(runs_.made_of(best));
    const bool in_reach =
        machine_.has_streams && SearchReach{least, reach.gained}.has(streams) &&
        (!runs_.has_tiles() || is_near_with_copies(suggested.front(), kProbeReach * least));
    if (in_reach) {  // first as if there were no cores: having them never makes a program slower
      runs_.without_tiles([&] { search_streams(suggested, streams, least, reach); });
    }
    if (!in_reach || runs_.has_tiles()) search_from(best);
    return std::move(result_);
  }

 private:
  static constexpr size_t kFew = 3;  ///< kernels of the runs that are tried first

  /// `streams`: what their best partition takes before it is searched; `least`: with cores.
  void search_streams(const std::vector<Parts>& suggested, double streams, double least,
                      SearchReach& reach) {
    const std::vector<Parts> others = other_partitions(suggested, streams);
    search_from(suggested.front());
    const double gained = streams / runs_.total_of(runs_.best());
    reach.gained = std::max(reach.gained, gained);
    const double cycles = std::min(runs_.total_of(runs_.best()), least);
    if (runs_.may_copy()) search_alone(gained, cycles);
    if (runs_.may_copy()) add_copied(others, cycles);
    if (runs_.values_decide()) add_alone(cycles);
  }

  void search_from(const Parts& first) {
    search_all(first);
    result_.found.push_back(runs_.made_of(first));
    add_best();
  }

  /// Judges runs of kernels as regions of streams; gives the best partition.
  Parts judge_runs(const std::vector<Parts>& suggested) {
    for (size_t k = 0; k < n_; ++k) runs_.add({k, k, ""});
    for (const Parts& parts : suggested) {
      for (const Part& part : parts) runs_.add(part);
    }
    runs_.allow(kMixtureEffort);
    Parts best = runs_.best();
    for (size_t length = 2; length <= n_ && runs_.has_time(); ++length) {
      if (length > kFew) best = join_neighbours(std::move(best));
      for (size_t first = 0; first + length <= n_ && runs_.has_time(); ++first) {
        runs_.add({first, first + length - 1, ""});
      }
      best = runs_.best();
    }
    return best;
  }

  /// Whether a partition takes at most so many cycles with copies. Where it is not known, or there
  /// are none: yes.
  bool is_near_with_copies(const Parts& parts, double most) {
    if (!runs_.may_copy()) return true;
    const std::optional<CopiedRuns> copied = runs_.with_copies(parts, false, kProbeEffort);
    return !copied || runs_.total_of(*copied) <= most;
  }

  /// Partitions into few regions that take hardly more than `least` with one copy of each loop:
  /// other suggestions, and the best into each small number of regions.
  std::vector<Parts> other_partitions(const std::vector<Parts>& suggested, double least) const {
    std::vector<Parts> others;
    const auto offer = [&](Parts parts) {
      const bool near = !parts.empty() && runs_.total_of(parts) <= kOthersReach * least;
      if (near && parts != suggested.front()) others.push_back(std::move(parts));
    };
    for (size_t s = 1; s < suggested.size(); ++s) offer(suggested[s]);
    for (size_t regions = 2; regions <= kMostOthers && regions < n_; ++regions) {
      offer(runs_.best_into(regions));
    }
    return others;
  }

  /// Adds the partition that is fastest with copies, and the best one that has its regions: smaller
  /// ones have room for more copies.
  void add_copied(const std::vector<Parts>& others, double cycles) {
    const Parts* best = nullptr;
    CopiedRuns runs;
    for (const Parts& parts : others) {
      std::optional<CopiedRuns> copied = runs_.with_copies(parts, true, kProbeEffort);
      if (!copied || (best != nullptr && runs_.total_of(*copied) >= runs_.total_of(runs))) continue;
      runs = std::move(*copied);
      best = &parts;
    }
    if (best == nullptr || runs_.total_of(runs) > kOthersReach * cycles) return;
    runs_.as_a_trial([&] {
      runs_.take_copies(*best, std::move(runs));
      result_.copied.push_back(runs_.made_of(*best));
      const Parts mixed = runs_.best();
      if (mixed != *best) result_.copied.push_back(runs_.made_of(mixed));
    });
  }

  /// Searches the kernels by themselves, which have more room for copies than runs of them, where
  /// they may come below `cycles`: in full where what a search gained for runs makes up for it;
  /// else each with the copies of a little effort, and where these bring them near, a little.
  void search_alone(double gained, double cycles) {
    const Parts parts = each_alone(n_);
    if (runs_.total_of(parts) <= kMoreGain * gained * cycles) return search_from(parts);
    const double before = runs_.total_of(runs_.best());
    std::optional<CopiedRuns> copied = runs_.with_copies(parts, false, kProbeEffort);
    const bool near = !copied || runs_.total_of(*copied) <= kAloneReach * cycles;
    if (copied) runs_.take_copies(parts, *std::move(copied));
    runs_.allow(kAloneEffort);
    if ((near && runs_.search(parts)) || runs_.total_of(runs_.best()) < before) add_best();
  }

  /// Adds the kernels by themselves, each in a good order: where values decide how much flows, what
  /// is fused may take far more than expected, and the given program may have poor orders.
  void add_alone(double cycles) {
    const Parts parts = each_alone(n_);
    const double total = runs_.total_of(parts);
    if (!std::isfinite(total) || total > kUnsure * cycles) return;
    runs_.as_a_trial([&] {
      runs_.allow(kAloneEffort);
      runs_.search(parts);
      result_.alone.push_back(runs_.made_of(parts));
    });
  }

  /// Searches one partition that takes hardly more than the best one after another.
  void search_all(const Parts& first) {
    runs_.allow(store_effort(runs_.statements()));
    runs_.search(first);
    runs_.allow(kOtherStoresEffort);
    for (bool any = true; any && runs_.has_time();) {
      any = false;
      for (const Parts& parts : near(runs_.best())) {
        any = runs_.search(parts);
        if (any) break;
      }
    }
  }

  /// A partition, those with two neighbours as one and those that lack one of its runs, the least
  /// first, if they take hardly more.
  std::vector<Parts> near(const Parts& best) {
    std::vector<std::pair<double, Parts>> all;
    const double most = kMixtureNearlyAsGood * runs_.total_of(best);
    const auto offer = [&](Parts parts) {
      const double total = runs_.total_of(parts);
      if (total <= most) all.emplace_back(total, std::move(parts));
    };
    offer(best);
    for (size_t p = 0; p < best.size(); ++p) {
      if (!best[p].is_kernel() || best[p].tiles) offer(runs_.best(&best[p]));
      if (p + 1 == best.size() || !runs_.has_time() || !can_join(best[p], best[p + 1])) continue;
      Parts joined = best;
      joined[p] = {best[p].first, best[p + 1].last, ""};
      joined.erase(joined.begin() + static_cast<std::ptrdiff_t>(p) + 1);
      runs_.add(joined[p]);
      offer(std::move(joined));
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Parts> result;
    result.reserve(all.size());
    for (auto& entry : all) result.push_back(std::move(entry.second));
    return result;
  }

  /// Neighbours that cores run better are not tried as one of streams.
  static bool can_join(const Part& a, const Part& b) { return !a.tiles && !b.tiles; }

  /// Adds the best partition, and where an estimate may be off, with the second best schedules.
  void add_best() {
    const Parts best = runs_.best();
    result_.found.push_back(runs_.made_of(best));
    if (runs_.has_second(best)) result_.found.push_back(runs_.made_of(best, true));
  }

  /// Judges neighbours of the best partition as one, until none of them is better as one.
  Parts join_neighbours(Parts best) {
    while (runs_.has_time()) {
      const size_t before = runs_.size();
      for (size_t p = 0; p + 1 < best.size() && runs_.has_time(); ++p) {
        if (can_join(best[p], best[p + 1])) runs_.add({best[p].first, best[p + 1].last, ""});
      }
      if (runs_.size() == before) break;
      best = runs_.best();
    }
    return best;
  }

  const size_t n_;  ///< kernels
  const Machine& machine_;
  JudgedRuns runs_;
  Mixtures result_;
};

void append(std::vector<Candidate>& to, std::vector<Candidate> from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

}  // namespace

void Mixtures::add(Mixtures others) {
  append(found, std::move(others.found));
  append(copied, std::move(others.copied));
  append(alone, std::move(others.alone));
}

Mixtures best_mixtures(const Program& kernels, const std::vector<Parts>& suggested,
                       const MixtureSpace& space, const Machine& machine, CostModel& costs,
                       PlacedRuns& placed, SearchReach& reach) {
  return PartitionSearch(kernels, space, machine, costs, placed).run(suggested, reach);
}

}  // namespace fuseflow
