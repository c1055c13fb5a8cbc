#include "explore/search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include "explore/copies.h"
#include "explore/partition.h"
#include "explore/seeds.h"
#include "explore/sets.h"
#include "graph/fingerprint.h"
#include "ir/print.h"
#include "lower/lower.h"
#include "machine/load.h"
#include "passes/pass.h"
#include "sim/program_run.h"
#include "support/error.h"
#include "support/interrupt.h"

namespace fuseflow {

namespace {

constexpr size_t kWave = 8;          ///< points between two decisions about what has to be beaten
constexpr size_t kIdsOfClimb = 256;  ///< points that a climb has at most
constexpr size_t kIdsOfSets = 256;   ///< and a search of sets of placements
constexpr double kEstimateShare = 0.4;  ///< of the time budget
constexpr double kSetsShare = 0.5;      ///< of the time budget, what was before included
constexpr size_t kBases = 4;            ///< points of a kernel alone that copies are tried from
constexpr size_t kAlone = 4;            ///< and that are simulated first, with and without copies

/// What a journal must have been written for.
std::string identity(const Program& kernels, const Machine& machine, const SearchOptions& options) {
  const SearchSpace& s = options.space;
  std::string text = fmt::format(
      "{}{}{} {} {} {} {} {}", print_program(kernels), print_machine(machine), s.max_kernels,
      s.max_orders, s.max_placements, s.max_copies, s.max_climbs, fmt::join(options.blocks, " "));
  for (const Seed& seed : options.seeds) {
    text += ";" + seed.name;
    for (const Seed::Part& part : seed.parts) {
      text += fmt::format(" {}-{} {}", part.first, part.last, part.schedule.order.size());
    }
  }
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return fmt::format("{:016x}", hash);
}

class Search {
 public:
  /// Points are numbered from `first_id`.
  Search(const Program& kernels, const Machine& machine, const SearchOptions& options,
         Journal& journal, size_t first_id)
      : kernels_(kernels),
        machine_(machine),
        options_(options),
        seeds_(strategy_seeds(kernels, machine)),
        evaluator_(kernels, machine, options.objective),
        journal_(journal),
        first_id_(first_id),
        limit_threads_(tbb::global_control::max_allowed_parallelism,
                       static_cast<size_t>(std::max(1, options.threads))) {
    seeds_.insert(seeds_.end(), options.seeds.begin(), options.seeds.end());
  }

  /// The number behind the last that a point may have.
  size_t end_id() const {
    return first_id_ + enumerated_ + kernels() * kernels() * (kIdsOfClimb + kIdsOfSets);
  }

  SearchResult run() {
    for (Point& point : enumerate_points(kernels_, machine_, options_.space, seeds_)) {
      Trial trial;
      trial.status = point.refused.empty() ? PointStatus::open : PointStatus::refused;
      trial.note = point.refused;
      trial.point = std::move(point);
      trial.point.id += first_id_;
      out_.trials.push_back(std::move(trial));
    }
    enumerated_ = out_.trials.size();
    const size_t longest = longest_run(kernels(), options_.space);
    if (longest < std::min(kernels(), options_.space.max_kernels)) {
      out_.notes.push_back(
          fmt::format("runs of more than {} kernels are many in a program of {}, and only those of "
                      "seeds are tried (--seed, --max-placements)",
                      longest, kernels()));
    }
    for (size_t i = 0; i < out_.trials.size(); ++i) at(out_.trials[i]).push_back(i);
    known_ = journal_.found();
    for (const std::string& shard : options_.merge) {
      for (auto& [id, result] : read_shard(shard)) known_[id] = result;
    }
    evaluator_.data = load_tensors(kernels_);
    run_kernels();
    if (!interrupted()) try_copies(kernels_alone(), 1);
    if (!interrupted()) try_sets(seeds_runs(), 1);
    if (!interrupted()) estimate_runs();
    if (!interrupted()) try_sets(worth_climbs(), kSetsShare);
    if (!interrupted()) try_copies(worth_climbs(), kSetsShare);
    if (!interrupted()) simulate_all();
    if (interrupted()) leave_open();
    choose();
    std::sort(out_.trials.begin(), out_.trials.end(),
              [](const Trial& a, const Trial& b) { return a.point.id < b.point.id; });
    return std::move(out_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void show(size_t done, size_t all, const std::string& what) const {
    if (options_.progress) options_.progress({what, done, all, best_so_far_});
  }

  bool out_of_time(double share = 1) const {
    return interrupted() || (options_.budget_seconds > 0 &&
                             std::chrono::duration<double>(Clock::now() - start_).count() >
                                 share * options_.budget_seconds);
  }

  size_t kernels() const { return evaluator_.runs().size(); }
  size_t slot(size_t first, size_t last) const { return first * kernels() + last; }
  double pause() const { return cost_of(options_.objective, pause_of(machine_)); }
  double value(const Trial& t) const { return cost_of(options_.objective, amounts_of(t.result)); }
  /// The trials of a run of kernels, by id.
  std::vector<size_t>& at(const Trial& t) { return by_run_[slot(t.point.first, t.point.last)]; }

  // --- the unfused program: its results are what every region reads

  /// Each kernel with its best order by estimate, on this machine, one after another.
  void run_kernels() {
    for (size_t k = 0; k < kernels() && !interrupted(); ++k) {
      show(k, kernels(), "running the unfused program");
      const std::vector<size_t>& ids = by_run_[slot(k, k)];
      estimate_run(ids);
      Trial* best = best_estimate(ids);
      if (best != nullptr) {
        best->result = evaluator_.simulate(*best, 0, &evaluator_.data, options_.threads);
        best->status = best->result.status;
        if (best->status == PointStatus::failed) best->note = best->result.note;
        const bool recorded = known_.count(best->point.id) > 0;
        if (best->status == PointStatus::unvisited) return;
        if (!recorded) journal_.append(best->point.id, best->result);
      }
      if (best == nullptr || best->status != PointStatus::simulated) run_unbounded(k);
    }
  }

  /// Only for its results, where the machine cannot run it.
  void run_unbounded(size_t k) {
    const Machine unbounded;
    Evaluator evaluator(kernels_, unbounded, options_.objective);
    evaluator.data = evaluator_.data;
    Trial trial;
    trial.point.first = trial.point.last = k;
    const PointResult result = evaluator.simulate(trial, 0, &evaluator_.data, options_.threads);
    if (result.status != PointStatus::simulated && result.status != PointStatus::unvisited) {
      throw Error(ExitCode::unfinished, fmt::format("kernel @{} does not finish: {}",
                                                    kernels_.regions[k].name, result.note));
    }
  }

  Trial* best_estimate(const std::vector<size_t>& ids) {
    Trial* best = nullptr;
    for (const size_t i : ids) {
      Trial& t = out_.trials[i];
      if (t.open() && (best == nullptr || t.estimate < best->estimate)) best = &t;
    }
    return best;
  }

  // --- estimates

  /// The trials of one run of kernels; of equal graphs only the first.
  void estimate_run(const std::vector<size_t>& ids) {
    std::map<uint64_t, size_t> seen;
    for (const size_t i : ids) {
      Trial& trial = out_.trials[i];
      if (trial.graph != 0) seen.try_emplace(trial.graph, i);
      if (!trial.open() || trial.graph != 0) continue;
      try {
        const Evaluator::Lowered lowered = evaluator_.lower(trial.point);
        trial.graph = fingerprint(*lowered.at().graph);
        const auto [first, fresh] = seen.try_emplace(trial.graph, i);
        if (fresh) {
          evaluator_.estimate(trial, lowered);
        } else {
          trial.region = lowered.at().name;
          trial.status = PointStatus::same;
          trial.note = fmt::format("as point {}", out_.trials[first->second].point.id);
        }
      } catch (const Error& error) {
        if (error.code() == ExitCode::internal) throw;
        trial.status = PointStatus::refused;
        trial.note = error.what();
      }
    }
  }

  /// The seeds' first, then the short ones.
  void estimate_runs() {
    std::vector<size_t> slots;
    std::set<size_t> seeded;
    for (const Seed& seed : seeds_) {
      for (const Seed::Part& part : seed.parts) seeded.insert(slot(part.first, part.last));
    }
    for (const auto& [run, ids] : by_run_) {
      if (run / kernels() != run % kernels()) slots.push_back(run);
    }
    std::stable_sort(slots.begin(), slots.end(), [&](size_t a, size_t b) {
      const auto key = [&](size_t s) {
        return std::pair(seeded.count(s) == 0, s % kernels() - s / kernels());
      };
      return key(a) < key(b);
    });
    std::atomic<size_t> done = 0;
    tbb::parallel_for(size_t{0}, slots.size(), [&](size_t i) {
      const std::vector<size_t>& ids = by_run_.at(slots[i]);
      if (interrupted() || (seeded.count(slots[i]) == 0 && out_of_time(kEstimateShare))) {
        leave(ids);
      } else {
        estimate_run(ids);
      }
      show(++done, slots.size(), "estimating");
    });
  }

  void leave_open() {
    for (Trial& trial : out_.trials) {
      if (trial.open()) trial.status = PointStatus::unvisited;
    }
  }

  void leave(const std::vector<size_t>& ids) {
    for (const size_t i : ids) {
      if (out_.trials[i].open()) out_.trials[i].status = PointStatus::unvisited;
    }
  }

  /// What all is compared with.
  std::vector<size_t> kernels_alone() const {
    std::vector<size_t> runs;
    for (size_t k = 0; k < kernels(); ++k) runs.push_back(slot(k, k));
    return runs;
  }

  /// The seeds' regions, without kernels alone.
  std::vector<size_t> seeds_runs() const {
    std::set<size_t> chosen;
    for (const Seed& seed : seeds_) {
      for (const Seed::Part& part : seed.parts) {
        if (part.first < part.last) chosen.insert(slot(part.first, part.last));
      }
    }
    return {chosen.begin(), chosen.end()};
  }

  /// The seeds' regions, then where fusing gains most by estimate; without kernels alone.
  std::vector<size_t> worth_climbs() const {
    std::vector<size_t> chosen = seeds_runs();
    const std::vector<double> least = costs([](const Trial& t) {
      return t.open() || t.status == PointStatus::simulated ? t.estimate : kNone;
    });
    std::vector<std::pair<double, size_t>> gains;
    for (size_t first = 0; first < kernels(); ++first) {
      double apart = least[slot(first, first)];
      for (size_t last = first + 1; last < kernels(); ++last) {
        apart += pause() + least[slot(last, last)];
        const double together = least[slot(first, last)];
        if (std::isfinite(together)) gains.emplace_back(together - apart, slot(first, last));
      }
    }
    std::sort(gains.begin(), gains.end());
    for (const auto& [gain, run] : gains) {
      if (chosen.size() + kernels() >= options_.space.max_climbs) break;
      if (std::find(chosen.begin(), chosen.end(), run) == chosen.end()) chosen.push_back(run);
    }
    return chosen;
  }

  /// Adds points that store whole sets of intermediates. `share`: of the time budget, after which
  /// no more runs are tried.
  void try_sets(std::vector<size_t> chosen, double share) {
    std::erase_if(chosen, [&](size_t run) { return !with_sets_.insert(run).second; });
    std::vector<std::vector<Point>> found(chosen.size());
    std::atomic<size_t> done = 0;
    tbb::parallel_for(size_t{0}, chosen.size(), [&](size_t i) {
      const auto [first, last] = std::pair(chosen[i] / kernels(), chosen[i] % kernels());
      if (!out_of_time(share)) {
        found[i] = stored_sets(kernels_, evaluator_.runs(), first, last, machine_, options_.space);
      }
      show(++done, chosen.size(), "trying sets of placements");
    });
    for (size_t i = 0; i < chosen.size(); ++i) add_sets(chosen[i], std::move(found[i]));
    tbb::parallel_for(size_t{0}, chosen.size(), [&](size_t i) {
      if (share < 1 && !interrupted()) estimate_run(by_run_.at(chosen[i]));
    });
  }

  void add_sets(size_t run, std::vector<Point> points) {
    // The same number whatever else was tried, for journals and shards.
    size_t id = first_id_ + enumerated_ + kernels() * kernels() * kIdsOfClimb + run * kIdsOfSets;
    points.resize(std::min(points.size(), kIdsOfSets));
    for (Point& point : points) {
      Trial trial;
      trial.point = std::move(point);
      trial.point.id = id++;
      at(trial).push_back(out_.trials.size());
      out_.trials.push_back(std::move(trial));
    }
  }

  size_t kernels_of(size_t run) const { return run % kernels() - run / kernels() + 1; }

  /// What copies are tried from: of a kernel alone its best points by estimate, else the best one.
  std::vector<const Trial*> bases(size_t run) const {
    std::vector<const Trial*> result;
    for (const size_t id : by_run_.at(run)) {
      const Trial& t = out_.trials[id];
      if (!(t.open() || t.status == PointStatus::simulated) || !t.point.parallel.empty()) continue;
      if (t.point.as_given) continue;
      result.push_back(&t);
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const Trial* a, const Trial* b) { return a->estimate < b->estimate; });
    const size_t most = kernels_of(run) == 1 ? kBases : 1;
    result.resize(std::min(result.size(), most));
    return result;
  }

  std::vector<Trial> climbs(size_t run) const {
    std::vector<Trial> result;
    for (const Trial* base : bases(run)) {
      Trial fresh;
      fresh.point = base->point;
      fresh.point.seed.clear();
      fresh.estimate = base->estimate;
      std::vector<Trial> steps = climb_copies(evaluator_, fresh, options_.space.max_copies);
      std::move(steps.begin(), steps.end(), std::back_inserter(result));
    }
    result.resize(std::min(result.size(), kIdsOfClimb));
    return result;
  }

  /// `share`: of the time budget, after which no more runs are tried.
  void try_copies(const std::vector<size_t>& chosen, double share) {
    if (options_.space.max_copies < 2) return;
    std::vector<std::vector<Trial>> found(chosen.size());
    std::atomic<size_t> done = 0;
    tbb::parallel_for(size_t{0}, chosen.size(), [&](size_t i) {
      if (!out_of_time(share)) found[i] = climbs(chosen[i]);
      show(++done, chosen.size(), "trying parallel copies");
    });
    for (size_t i = 0; i < chosen.size(); ++i) {
      // The same number whatever else was tried, for journals and shards.
      size_t id = first_id_ + enumerated_ + chosen[i] * kIdsOfClimb;
      for (Trial& trial : found[i]) {
        trial.point.id = id++;
        at(trial).push_back(out_.trials.size());
        out_.trials.push_back(std::move(trial));
      }
    }
  }

  // --- simulation

  void simulate_all() {
    run_points(first_points(), {}, "simulating first points");
    const std::vector<size_t> list = by_promise();
    for (size_t begin = 0; begin < list.size() && !interrupted(); begin += kWave) {
      show(begin, list.size(), "simulating");
      const std::vector<double> known = known_costs();
      const std::vector<double> plain = plain_costs();
      const std::vector<double> least = costs([&](const Trial& t) {
        if (t.status == PointStatus::simulated) return value(t);
        const bool may_be =
            t.open() || t.status == PointStatus::failed || t.status == PointStatus::elsewhere;
        return may_be ? t.bound : kNone;
      });
      const double incumbent = best_known(known);
      const Partition bounds(kernels(), least, pause());
      if (std::isfinite(incumbent)) {
        best_so_far_ = amount_text(options_.objective, machine_, incumbent);
      }
      std::vector<size_t> wave;
      std::vector<int64_t> goals;
      for (size_t i = begin; i < std::min(begin + kWave, list.size()); ++i) {
        Trial& trial = out_.trials[list[i]];
        const bool alone = trial.point.first == trial.point.last && trial.point.parallel.empty();
        const Goal goal =
            options_.exhaustive ? Goal{} : goal_of(trial, incumbent, bounds, alone ? plain : known);
        if (trial.bound >= goal.cost) {
          trial.status = PointStatus::pruned;
          trial.note = goal.why;
        } else {
          wave.push_back(list[i]);
          goals.push_back(cycles_to_beat(goal));
        }
      }
      run_points(wave, goals, "simulating");
    }
    for (const Seed& seed : seeds_) note_unfinished(seed);
  }

  struct Goal {
    double cost = kNone;
    const char* why = "";
  };

  /// A run can be cut by its cycles alone; 0: it goes on to its end.
  int64_t cycles_to_beat(const Goal& goal) const {
    const bool cuts = options_.objective == Objective::cycles && std::isfinite(goal.cost);
    return cuts ? static_cast<int64_t>(std::ceil(goal.cost)) : 0;
  }

  /// What the best program takes that simulated points make; kNone: none does.
  double best_known(const std::vector<double>& known) const {
    if (options_.objective != Objective::edp) return Partition(kernels(), known, pause()).total();
    const auto front = pareto_front(out_.trials, kernels(), pause_of(machine_));
    const FrontProgram* best = least_edp(front);
    return best == nullptr ? kNone : cost_of(Objective::edp, best->amounts);
  }

  /// Whether the same kernels were simulated otherwise with no more cycles and no more energy than
  /// the trial takes at least.
  bool dominated(const Trial& trial, bool without_copies) const {
    return std::any_of(out_.trials.begin(), out_.trials.end(), [&](const Trial& t) {
      const Amounts found = amounts_of(t.result);
      return t.status == PointStatus::simulated && t.point.first == trial.point.first &&
             t.point.last == trial.point.last && found.cycles <= trial.least.cycles &&
             found.energy_pj <= trial.least.energy_pj &&
             (t.point.parallel.empty() || !without_copies);
    });
  }

  /// What a point has to beat: the best program so far, and the same kernels as placed before. Of a
  /// kernel alone the best is needed anyway, without copies too: the unfused totals are made of it.
  Goal goal_of(const Trial& trial, double incumbent, const Partition& bounds,
               const std::vector<double>& known) const {
    Goal same{known[slot(trial.point.first, trial.point.last)],
              "bound not below the same kernels otherwise"};
    if (options_.objective == Objective::edp) {  // costs of regions do not add up
      const bool alone = trial.point.first == trial.point.last && trial.point.parallel.empty();
      same.cost = dominated(trial, alone) ? 0 : kNone;
    }
    if (trial.point.first == trial.point.last) return same;
    const double others = bounds.around(trial.point.first, trial.point.last);
    const Goal whole{incumbent - others, "bound not below the best program"};
    return whole.cost < same.cost ? whole : same;
  }

  std::vector<double> plain_costs() const {
    return costs([&](const Trial& t) {
      const bool counts = t.status == PointStatus::simulated && t.point.parallel.empty();
      return counts ? value(t) : kNone;
    });
  }

  std::vector<double> known_costs() const {
    return costs(
        [&](const Trial& t) { return t.status == PointStatus::simulated ? value(t) : kNone; });
  }

  /// The most promising points of each kernel alone, without copies and with: what fusion is
  /// compared with is not left to chance when time is short.
  std::set<size_t> first_alone() const {
    const std::vector<double> plain = plain_costs();
    const std::vector<double> known = known_costs();
    std::map<std::pair<size_t, bool>, std::vector<std::pair<double, size_t>>> lists;
    for (size_t i = 0; i < out_.trials.size(); ++i) {
      const Trial& t = out_.trials[i];
      if (!t.open() || t.point.first != t.point.last) continue;
      const size_t k = t.point.first;
      const bool copies = !t.point.parallel.empty();
      if (t.bound >= (copies ? known : plain)[slot(k, k)]) continue;
      lists[{k, copies}].emplace_back(t.estimate, i);
    }
    std::set<size_t> result;
    for (auto& [kernel, list] : lists) {
      std::sort(list.begin(), list.end());
      for (size_t n = 0; n < std::min(list.size(), kAlone); ++n) result.insert(list[n].second);
    }
    return result;
  }

  /// First points of kernels alone, the seeds', then all others by the estimate of the best program
  /// with each.
  std::vector<size_t> by_promise() const {
    const std::vector<double> least = costs([&](const Trial& t) {
      if (t.status == PointStatus::simulated) return value(t);
      return t.open() ? t.estimate : kNone;
    });
    const Partition best(kernels(), least, pause());
    const std::set<size_t> alone = first_alone();
    std::vector<std::tuple<int, double, size_t>> keys;
    for (size_t i = 0; i < out_.trials.size(); ++i) {
      const Trial& t = out_.trials[i];
      if (!t.open()) continue;
      const double others = best.around(t.point.first, t.point.last);
      const int turn = alone.count(i) > 0 ? 0 : t.point.seed.empty() ? 2 : 1;
      keys.emplace_back(turn, others + t.estimate, i);
    }
    std::sort(keys.begin(), keys.end());
    std::vector<size_t> result;
    result.reserve(keys.size());
    for (const auto& [later, estimate, i] : keys) result.push_back(i);
    return result;
  }

  /// Fixed from the start: the regions of the estimated best partition, and the estimated best of
  /// every kernel alone.
  std::vector<size_t> first_points() {
    const std::vector<double> estimates = costs([](const Trial& t) {
      return t.open() || t.status == PointStatus::simulated ? t.estimate : kNone;
    });
    const Partition best(kernels(), estimates, pause());
    if (!std::isfinite(best.total())) throw_empty();
    std::vector<std::pair<size_t, size_t>> wanted = best.intervals();
    for (size_t k = 0; k < kernels(); ++k) wanted.emplace_back(k, k);
    std::set<size_t> result;
    for (const auto& [first, last] : wanted) {
      const std::vector<size_t>& ids = by_run_.at(slot(first, last));
      const Trial* least = best_estimate(ids);
      const bool needed = least != nullptr && least->estimate == estimates[slot(first, last)];
      if (needed) result.insert(static_cast<size_t>(least - out_.trials.data()));
    }
    return {result.begin(), result.end()};
  }

  [[noreturn]] void throw_empty() const {
    for (size_t k = 0; k < kernels(); ++k) {
      const auto possible = [](const Trial& t) {
        return t.open() || t.status == PointStatus::simulated;
      };
      const bool any = std::any_of(out_.trials.begin(), out_.trials.end(), [&](const Trial& t) {
        return t.point.first <= k && t.point.last >= k && possible(t);
      });
      if (any) continue;
      std::string why = "no point";
      for (const Trial& t : out_.trials) {
        if (t.point.first == k && t.point.last == k && !t.note.empty()) why = t.note;
      }
      throw Error(ExitCode::rejected,
                  fmt::format("the search space is empty: no region with kernel @{} is possible on "
                              "machine {}: {}",
                              kernels_.regions[k].name, machine_.name, why));
    }
    throw Error(ExitCode::rejected,
                "the search space is empty: no partition into possible regions exists");
  }

  /// In parallel. First points (no goals) are done by every shard, the others are divided.
  void run_points(const std::vector<size_t>& points, const std::vector<int64_t>& goals,
                  const std::string& what) {
    std::atomic<size_t> done = 0;
    tbb::parallel_for(size_t{0}, points.size(), [&](size_t i) {
      Trial& trial = out_.trials[points[i]];
      run_point(trial, goals.empty() ? 0 : goals[i], goals.empty());
      if (goals.empty()) show(++done, points.size(), what);
    });
  }

  void run_point(Trial& trial, int64_t goal, bool first) {
    const size_t id = trial.point.id;
    const auto found = known_.find(id);
    if (found != known_.end() && holds(found->second, goal)) {
      trial.result = judged(found->second, goal);
    } else if (!first && options_.merge.empty() && id % options_.shards != options_.shard) {
      trial.status = PointStatus::elsewhere;
      return;
    } else if (!options_.merge.empty() || interrupted() ||
               (out_of_time() && !first && trial.point.seed.empty())) {
      trial.status = PointStatus::unvisited;
      return;
    } else {
      trial.result = evaluator_.simulate(trial, goal);
      if (trial.result.status != PointStatus::unvisited) journal_.append(id, trial.result);
    }
    trial.status = trial.result.status;
    if (trial.status == PointStatus::failed) trial.note = trial.result.note;
  }

  /// A run that was cut says nothing of a longer one.
  static bool holds(const PointResult& result, int64_t goal) {
    return result.status != PointStatus::cut || (goal > 0 && goal <= result.cycles);
  }
  /// What the same run would have given with this goal.
  static PointResult judged(const PointResult& result, int64_t goal) {
    const bool over = goal > 0 && result.status != PointStatus::failed && result.cycles >= goal;
    return over ? PointResult{PointStatus::cut, goal, 0, 0, 0, ""} : result;
  }

  void note_unfinished(const Seed& seed) {
    for (const Trial& t : out_.trials) {
      if (t.status != PointStatus::unvisited || t.point.seed.empty()) continue;
      const bool member = std::any_of(seed.parts.begin(), seed.parts.end(), [&](const auto& part) {
        return part.first == t.point.first && part.last == t.point.last;
      });
      if (!member) continue;
      out_.unfinished.push_back(seed.name);
      return;
    }
  }

  // --- partitions

  /// The least cost of a point for each run of kernels.
  template <typename Cost>
  std::vector<double> costs(const Cost& cost) const {
    std::vector<double> least(kernels() * kernels(), kNone);
    for (const Trial& t : out_.trials) {
      double& entry = least[slot(t.point.first, t.point.last)];
      entry = std::min(entry, cost(t));
    }
    return least;
  }

  /// Of the kernels alone, each in the way that costs the least; zeros where one is not known.
  Amounts sum_alone(bool with_copies) const {
    Amounts sum;
    for (size_t k = 0; k < kernels(); ++k) {
      const Trial* least = nullptr;
      for (const size_t i : by_run_.at(slot(k, k))) {
        const Trial& t = out_.trials[i];
        if (t.status != PointStatus::simulated || !(with_copies || t.point.parallel.empty()))
          continue;
        if (least == nullptr || value(t) < value(*least)) least = &t;
      }
      if (least == nullptr) return {};
      sum += amounts_of(least->result);
      if (k > 0) sum += pause_of(machine_);
    }
    return sum;
  }

  /// Of a simulated point its cost, of others what they take at least; kNone: not tried.
  double least_of(const Trial& t) const {
    if (t.status == PointStatus::simulated || t.status == PointStatus::cut) return value(t);
    return t.status == PointStatus::pruned ? t.bound : kNone;
  }

  /// The same as amounts: of what was cut, its cycles are known.
  static Amounts least_amounts(const Trial& t) {
    return t.status == PointStatus::pruned ? t.least : amounts_of(t.result);
  }

  SeedTotal total_of(const Seed& seed) const {
    SeedTotal total{seed.name, 0, false};
    Amounts sum;
    for (const Seed::Part& part : seed.parts) {
      const Trial* least = nullptr;
      for (const Trial& t : out_.trials) {
        const bool member = !t.point.seed.empty() && t.point.parallel.empty() &&
                            t.point.first == part.first && t.point.last == part.last;
        if (!member || least_of(t) == kNone) continue;
        if (least == nullptr || least_of(t) < least_of(*least)) least = &t;
      }
      if (least == nullptr) return total;
      sum += least_amounts(*least);
      if (part.first > 0) sum += pause_of(machine_);
      total.at_least = total.at_least || least->status != PointStatus::simulated;
    }
    total.cost = cost_of(options_.objective, sum);
    return total;
  }

  /// The regions of the program that costs the least, marked as such; none where none is complete.
  std::vector<const Trial*> best_trials() {
    std::vector<const Trial*> chosen;
    const auto choose_one = [&](size_t first, size_t last, const auto& wanted) {
      for (const size_t i : by_run_.at(slot(first, last))) {
        Trial& t = out_.trials[i];
        if (t.status != PointStatus::simulated || !wanted(t)) continue;
        t.best = options_.shards == 1;
        chosen.push_back(&t);
        return;
      }
    };
    if (options_.objective == Objective::edp) {
      const FrontProgram* best = least_edp(out_.front);
      if (best == nullptr) return {};
      for (const FrontProgram::Part& part : best->parts) {
        choose_one(part.first, part.last, [&](const Trial& t) { return t.point.id == part.point; });
      }
      return chosen;
    }
    const std::vector<double> known = known_costs();
    const Partition best(kernels(), known, pause());
    if (!std::isfinite(best.total())) return {};
    for (const auto& [first, last] : best.intervals()) {
      const double least = known[slot(first, last)];
      choose_one(first, last, [&](const Trial& t) { return value(t) == least; });
    }
    return chosen;
  }

  void choose() {
    for (const Seed& seed : seeds_) {
      if (seed.name != "none") out_.seeds.push_back(total_of(seed));
    }
    out_.objective = options_.objective;
    if (options_.space.max_copies > 1) out_.unfused_copies = sum_alone(true);
    out_.unfused = sum_alone(false);
    out_.front = pareto_front(out_.trials, kernels(), pause_of(machine_));
    const std::vector<const Trial*> chosen = best_trials();
    if (options_.shards > 1 || chosen.empty()) return;
    std::vector<size_t> starts;
    for (const Trial* t : chosen) {
      starts.push_back(t->point.first);
      out_.best += amounts_of(t->result);
      if (t->point.first > 0) out_.best += pause_of(machine_);
    }
    out_.program = assemble(starts, chosen);
    out_.program->strategy = "explore";
  }

  Program assemble(const std::vector<size_t>& starts,
                   const std::vector<const Trial*>& chosen) const {
    Program program = evaluator_.runs().partition(starts);
    for (const Trial* trial : chosen) {
      const TensorId wanted = kernels_.regions[trial->point.first].statements[0].result;
      for (size_t r = 0; r < program.regions.size(); ++r) {
        const std::vector<Statement>& all = program.regions[r].statements;
        if (std::none_of(all.begin(), all.end(),
                         [&](const Statement& s) { return s.result == wanted; })) {
          continue;
        }
        program = apply_point(std::move(program), r, trial->point);
        break;
      }
    }
    return program;
  }

  const Program& kernels_;
  const Machine& machine_;
  const SearchOptions& options_;
  std::vector<Seed> seeds_;
  Evaluator evaluator_;
  Journal& journal_;
  const size_t first_id_;
  size_t enumerated_ = 0;
  tbb::global_control limit_threads_;
  const Clock::time_point start_ = Clock::now();
  std::string best_so_far_;
  std::map<size_t, PointResult> known_;
  std::map<size_t, std::vector<size_t>> by_run_;  ///< positions by slot of their run of kernels
  std::set<size_t> with_sets_;                    ///< slots for which sets were searched
  SearchResult out_;
};

}  // namespace

namespace {

/// Every dimension that can be has blocks of `side`; nothing if none can be, or what is lowered
/// from it would not work.
std::optional<Program> blocked(const Program& kernels, int64_t side, std::string& why) {
  PassArguments arguments;
  arguments.add("block-all", fmt::format("{}", side));
  PassLog log;
  try {
    return run_pass(find_pass("block"), kernels, arguments, log);
  } catch (const Error& error) {
    if (error.code() == ExitCode::internal) throw;
    why = error.what();
    return std::nullopt;
  }
}

void add_variant(SearchResult& all, SearchResult found, int64_t side) {
  all.objective = found.objective;
  const auto cost = [&](const SearchResult& r) { return cost_of(all.objective, r.best); };
  const bool better = found.best.cycles > 0 && (all.best.cycles == 0 || cost(found) < cost(all));
  all.front = merged(std::move(all.front), found.front);
  for (Trial& t : all.trials) t.best = t.best && !better;
  for (Trial& t : found.trials) {
    t.block = side;
    t.best = t.best && better;
    all.trials.push_back(std::move(t));
  }
  if (side == 1) {
    all.unfused = found.unfused;
    all.unfused_copies = found.unfused_copies;
    all.seeds = std::move(found.seeds);
  }
  if (better) {
    all.best = found.best;
    all.program = std::move(found.program);
  }
  all.unfinished.insert(all.unfinished.end(), found.unfinished.begin(), found.unfinished.end());
  if (side == 1 || all.notes.empty()) {
    all.notes.insert(all.notes.end(), found.notes.begin(), found.notes.end());
  }
}

/// The best program as a whole, as fuseflow-sim runs what --best writes: its regions were simulated
/// alone, on results of the unfused program, which differ from theirs by rounding.
void confirm(SearchResult& all, const Machine& machine, int threads) {
  if (!all.program || interrupted()) return;
  const Program program = lower_program(*all.program);
  RunOptions options;
  options.threads = threads;
  options.cancel = &interrupt_flag();
  const ProgramRun run = run_program(program, load_tensors(program, {}, threads), machine, options);
  if (run.finish == Finish::cancelled) return;
  if (run.finish != Finish::done) {
    throw Error(ExitCode::internal, "the best program does not finish, though its regions do");
  }
  const int64_t cycles = total_cycles(run, machine);
  const auto apart = static_cast<int64_t>(all.best.cycles);
  if (cycles == apart) return;
  all.notes.push_back(
      fmt::format("the best program takes {} cycles as a whole, its regions alone "
                  "{}: what they read differs in rounding",
                  cycles, apart));
  all.best.cycles = static_cast<double>(cycles);
}

SearchResult search_prepared(const Program& kernels, const Machine& machine,
                             const SearchOptions& options) {
  Journal journal(options.journal, identity(kernels, machine, options));
  SearchResult all;
  size_t next_id = 0;
  for (const int64_t side : options.blocks) {
    if (interrupted()) break;
    std::string why;
    const std::optional<Program> program =
        side == 1 ? std::optional<Program>(kernels) : blocked(kernels, side, why);
    if (!program) {
      all.notes.push_back(fmt::format("blocks of {} are not possible: {}", side, why));
      continue;
    }
    try {
      Search one(*program, machine, options, journal, next_id);
      SearchResult found = one.run();
      next_id = one.end_id();
      add_variant(all, std::move(found), side);
    } catch (const Error& error) {
      if (side == 1 || error.code() == ExitCode::internal) throw;
      all.notes.push_back(fmt::format("blocks of {}: {}", side, error.what()));
    }
  }
  if (all.trials.empty() && !interrupted()) {
    throw Error(ExitCode::rejected, "the search space is empty: --blocks leaves no program");
  }
  confirm(all, machine, options.threads);
  return all;
}

}  // namespace

SearchResult search(const Program& kernels, const Machine& machine, const SearchOptions& options) {
  Program program = kernels;
  // As whatever is lowered as a whole, so that fuseflow-sim does the same.
  for (std::string& note : nest_tuples(program)) report(Severity::note, std::move(note));
  return search_prepared(program, machine, options);
}

}  // namespace fuseflow
