#include "explore/candidates.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <optional>
#include <set>
#include <string>

#include "explore/copies.h"
#include "explore/sets.h"
#include "support/parallel_for.h"

namespace fuseflow {

namespace {

constexpr size_t kIdsOfCopies = 256;  ///< points with copies that a run of kernels has at most
constexpr size_t kIdsOfSets = 256;    ///< and points with sets of placements
constexpr size_t kBases = 4;          ///< points of a run that copies are tried from

/// What copies are tried from: the best points of a run by estimate. What is best without copies
/// may gain less by them than another, so of several kernels those with equal estimates count once,
/// and the default order of storing everything, in which loops of one row follow each other, is
/// tried.
std::vector<const Trial*> bases(const TrialTable& table, Interval run) {
  std::vector<const Trial*> result;
  const Trial* stored = nullptr;
  for (const size_t i : table.of(run)) {
    const Trial& t = table[i];
    if (!t.possible() || t.point.has_copies() || t.point.has_own_graph()) continue;
    result.push_back(&t);
    if (stored == nullptr && t.point.recipe.name == kStoreAll) stored = &t;
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Trial* a, const Trial* b) { return a->estimate < b->estimate; });
  const auto equal = [](const Trial* a, const Trial* b) { return a->estimate == b->estimate; };
  if (!run.alone()) result.erase(std::unique(result.begin(), result.end(), equal), result.end());
  result.resize(std::min(result.size(), kBases));
  const bool missing = std::find(result.begin(), result.end(), stored) == result.end();
  if (!run.alone() && stored != nullptr && missing) result.push_back(stored);
  return result;
}

Trial untried(Point point) {
  Trial trial;
  trial.status = point.refused.empty() ? PointStatus::open : PointStatus::refused;
  trial.note = point.refused;
  trial.point = std::move(point);
  return trial;
}

/// The trials of copies that were made of the run before; nothing where they are not known, or do
/// not fit this search.
std::optional<std::vector<Trial>> remembered_copies(const SearchState& s, Interval run) {
  const auto known = s.journal.memo().copies.find({s.block, run});
  if (known == s.journal.memo().copies.end()) return std::nullopt;
  std::vector<Trial> result;
  for (const CopiedPoint& copied : known->second) {
    const std::vector<size_t>& all = s.table.of(run);
    const auto base = std::find_if(all.begin(), all.end(), [&](size_t i) {
      return s.table.trials()[i].point.key == copied.base;
    });
    if (base == all.end()) return std::nullopt;
    for (const Parallel& parallel : copied.parallel) {
      if (parallel.factor > s.options.space.max_copies) return std::nullopt;
    }
    Trial& trial = result.emplace_back();
    trial.point = s.table.trials()[*base].point;
    trial.point.seed.clear();
    trial.point.parallel = copied.parallel;
    const auto estimate = s.journal.memo().estimates.find(key_of(trial.point, s.block));
    if (estimate == s.journal.memo().estimates.end()) return std::nullopt;
    trial.take_estimate(estimate->second, s.options.objective);
  }
  return result;
}

/// The points have the keys of those that they were made from.
void keep_copies(const SearchState& s, Interval run, const std::vector<Trial>& trials) {
  if (!s.journal.keeps()) return;
  std::vector<CopiedPoint> copies;
  std::string lines;
  for (const Trial& trial : trials) {
    const std::optional<EstimatedPoint> estimated = trial.estimated();
    if (!estimated) return;
    lines += memo_line(key_of(trial.point, s.block), *estimated);
    copies.push_back({trial.point.key, trial.point.parallel});
  }
  s.journal.append(lines + memo_line({s.block, run}, copies));
}

std::vector<Trial> with_copies(const SearchState& s, Interval run) {
  if (auto known = remembered_copies(s, run)) return std::move(*known);
  std::vector<Trial> result;
  for (const Trial* base : bases(s.table, run)) {
    Trial fresh;
    fresh.point = base->point;
    fresh.point.seed.clear();
    fresh.estimate = base->estimate;
    std::vector<Trial> steps = climb_copies(s.evaluator, fresh, s.options.space.max_copies);
    std::move(steps.begin(), steps.end(), std::back_inserter(result));
  }
  std::set<uint64_t> known;  // another way may lead to a point that there is
  for (const size_t i : s.table.of(run)) known.insert(s.table[i].point.key);
  std::erase_if(result, [&](const Trial& trial) {
    return !known.insert(key_of(trial.point, s.block)).second;
  });
  result.resize(std::min(result.size(), kIdsOfCopies));
  keep_copies(s, run, result);
  return result;
}

bool fits(const Program& kernels, const StoredSet& set) {
  const auto size = static_cast<TensorId>(kernels.tensors.size());
  const auto has = [&](const UsePlacement& use) {
    return use.tensor >= 0 && use.tensor < size && use.consumer < size;
  };
  return std::all_of(set.placements.begin(), set.placements.end(), has) &&
         set.name == name_of_set(kernels, set.placements);
}

bool knows_sets(const SearchState& s, Interval run) {
  const auto known = s.journal.memo().sets.find({s.block, run});
  return known != s.journal.memo().sets.end() &&
         std::all_of(known->second.begin(), known->second.end(),
                     [&](const StoredSet& set) { return fits(s.kernels, set); });
}

/// `learned`: null where the sets are known from before.
std::vector<Point> points_with_sets(const SearchState& s, const EstimatedCosts* learned,
                                    Interval run) {
  std::vector<Point> points;
  if (knows_sets(s, run)) {
    for (const StoredSet& set : s.journal.memo().sets.at({s.block, run})) {
      points.push_back(point_with_set(run, s.machine, set));
    }
    return points;
  }
  points = stored_sets(s.kernels, s.evaluator.runs(), run, s.machine, s.options.space, *learned);
  std::vector<StoredSet> sets;
  for (const Point& point : points) {
    sets.push_back({point.recipe.name, point.recipe.placements, point.order});
  }
  if (s.journal.keeps()) s.journal.append(memo_line({s.block, run}, sets));
  return points;
}

std::vector<Trial> with_sets(const SearchState& s, const EstimatedCosts* learned, Interval run) {
  std::vector<Point> points = points_with_sets(s, learned, run);
  points.resize(std::min(points.size(), kIdsOfSets));
  refuse_streams(points, s.kernels, s.machine, s.streams);
  std::vector<Trial> result;
  result.reserve(points.size());
  for (Point& point : points) result.push_back(untried(std::move(point)));
  return result;
}

/// `make(state, run)` in parallel for all runs for which there is time, or of which it is known
/// from before what is made: `known(run)`.
template <typename Make, typename Known>
std::vector<std::vector<Trial>> for_runs(const SearchState& s, const std::vector<Interval>& runs,
                                         double share, const char* what, const Make& make,
                                         const Known& known) {
  std::vector<std::vector<Trial>> found(runs.size());
  std::atomic<size_t> done = 0;
  parallel_for(size_t{0}, runs.size(), [&](size_t i) {
    if (known(runs[i]) || !s.pace.out_of_time(share)) found[i] = make(s, runs[i]);
    s.pace.show(++done, runs.size(), what);
  });
  return found;
}

}  // namespace

Candidates::Candidates(SearchState& state, size_t first_id) : s_(state), first_id_(first_id) {
  for (Point& point : enumerate_points(s_.kernels, s_.machine, s_.options.space, s_.seeds)) {
    point.id += first_id_;
    add(untried(std::move(point)));
    ++enumerated_;
  }
}

void Candidates::add_sets(std::vector<Interval> runs, double share) {
  std::erase_if(runs, [&](Interval run) { return !with_sets_.insert(run).second; });
  const auto known = [&](Interval run) { return knows_sets(s_, run); };
  if (!std::all_of(runs.begin(), runs.end(), known)) {
    if (!s_.pace.out_of_time(share)) learn();
    if (!is_learned_) std::erase_if(runs, [&](Interval run) { return !known(run); });
  }
  const auto make = [&](const SearchState& s, Interval run) {
    return with_sets(s, learned_.get(), run);
  };
  auto found = for_runs(s_, runs, share, "trying sets of placements", make, known);
  for (size_t i = 0; i < runs.size(); ++i) add(std::move(found[i]), id_of_sets(runs[i]));
}

void Candidates::add_copies(const std::vector<Interval>& runs, double share) {
  if (s_.options.space.max_copies < 2) return;
  const auto known = [&](Interval run) {
    return s_.journal.memo().copies.contains({s_.block, run});
  };
  auto found = for_runs(s_, runs, share, "trying parallel copies", with_copies, known);
  for (size_t i = 0; i < runs.size(); ++i) add(std::move(found[i]), id_of_copies(runs[i]));
}

void Candidates::learn() {
  if (learned_) return;
  learned_ = std::make_unique<EstimatedCosts>(s_.machine);
  is_learned_ = learned_->learn(s_.kernels).has_value();
}

void Candidates::add(std::vector<Trial> trials, size_t id) {
  for (Trial& trial : trials) {
    trial.point.id = id++;
    add(std::move(trial));
  }
}

/// A point that there is already is that of more seeds.
void Candidates::add(Trial trial) {
  trial.point.key = key_of(trial.point, s_.block);
  const auto [known, is_new] = by_key_.try_emplace(trial.point.key, s_.table.trials().size());
  if (!is_new) return name_seed(s_.table[known->second].point, trial.point.seed);
  s_.table.add(std::move(trial));
}

// Numbers: what is enumerated, then a block for the copies of each run of kernels, then one for its
// sets.

size_t Candidates::id_of_copies(Interval run) const {
  const size_t place = run.first * s_.table.kernels() + run.last;
  return first_id_ + enumerated_ + place * kIdsOfCopies;
}

size_t Candidates::id_of_sets(Interval run) const {
  const size_t n = s_.table.kernels();
  const size_t place = run.first * n + run.last;
  return first_id_ + enumerated_ + n * n * kIdsOfCopies + place * kIdsOfSets;
}

size_t Candidates::end_id() const {
  const size_t n = s_.table.kernels();
  return first_id_ + enumerated_ + n * n * (kIdsOfCopies + kIdsOfSets);
}

}  // namespace fuseflow
