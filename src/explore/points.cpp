#include "explore/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "explore/orders.h"
#include "ir/copies.h"
#include "ir/names.h"
#include "lower/region_indices.h"
#include "passes/regroup.h"
#include "passes/storage_forms.h"
#include "search/whole_kernels.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/parallel_for.h"

namespace fuseflow {

namespace {

std::vector<TensorId> intermediates(const Program& program, size_t region) {
  std::vector<TensorId> result;
  for (const Statement& producer : program.regions[region].statements) {
    for (const Statement& consumer : program.regions[region].statements) {
      const bool used =
          std::any_of(consumer.nodes.begin(), consumer.nodes.end(), [&](const Expr& e) {
            return e.kind == Expr::Kind::access && e.tensor == producer.result;
          });
      if (!used) continue;
      result.push_back(producer.result);
      break;
    }
  }
  return result;
}

/// A contraction's result: storing it may save recomputation.
bool reduces(const Program& program, size_t region, TensorId tensor) {
  for (const Statement& s : program.regions[region].statements) {
    if (s.result != tensor) continue;
    return std::any_of(s.nodes.begin(), s.nodes.end(),
                       [](const Expr& e) { return e.kind == Expr::Kind::reduce; });
  }
  return false;
}

std::vector<PlacementRecipe> recipes(const Program& program, size_t region, const Machine& machine,
                                     size_t limit) {
  PlacementOptions options;
  options.scratchpad_bytes = machine.scratchpad.bytes;
  std::vector<PlacementRecipe> result = {{"default", options, {}}};
  const std::vector<TensorId> inner = intermediates(program, region);
  if (inner.empty()) return result;
  PlacementOptions store = options;
  store.max_recompute = 1;
  result.push_back({kStoreAll, store, {}});
  PlacementOptions recompute = options;
  recompute.recompute_always = true;
  result.push_back({"recompute", recompute, {}});
  for (const TensorId t : inner) {
    if (result.size() >= limit) break;
    if (!reduces(program, region, t)) continue;
    const std::string name = "%" + quote_if_needed(program.tensors[static_cast<size_t>(t)].name);
    for (const PlacementOptions& rest : {store, recompute}) {
      result.push_back(
          {name + (rest.recompute_always ? "=scratchpad, recompute" : "=scratchpad, store"),
           rest,
           {{t, -1, Placement::scratchpad}}});
    }
  }
  return result;
}

/// Whether a kernel is more than statements: the search must not be worse than what it is given.
bool is_prepared(const Region& region) {
  return region.graph || region.statements.size() > 1 || region.schedule != Schedule();
}

/// Why the statements of a run cannot be streams, though they could be lowered; empty if they can.
std::string no_streams(const Program& kernels, size_t first, size_t last, const Machine& machine) {
  if (machine.has_streams) return "";
  for (size_t k = first; k <= last; ++k) {
    const Region& kernel = kernels.regions[k];
    if (!kernel.graph || !kernel.graph->tiles) continue;
    return fmt::format("machine {} has no units for streams, and @{} is planned for its cores",
                       machine.name, quote_if_needed(kernel.name));
  }
  return "";
}

/// The points of one run of kernels.
std::vector<Point> points_of(const Program& kernels, size_t first, size_t last,
                             const KernelRuns& runs, const Machine& machine,
                             const SearchSpace& space) {
  std::vector<Point> result;
  if (first == last && is_prepared(kernels.regions[first])) {
    Point given;
    given.first = given.last = first;
    given.as_given = true;
    given.recipe.name = "given";
    given.order = kernels.regions[first].schedule.order;
    given.seed = "input";
    result.push_back(given);
  }
  if (const std::string why = no_streams(kernels, first, last, machine); !why.empty()) {
    Point point;
    point.first = first;
    point.last = last;
    point.recipe.name = "default";
    point.refused = why;
    result.push_back(point);
    return result;
  }
  const RunAlone run = runs.make({first, last});
  for (PlacementRecipe& recipe :
       recipes(run.slice.program, run.region, machine, space.max_placements)) {
    if (first != last && interrupted()) break;
    for (UsePlacement& use : recipe.placements) use.tensor = run.slice.whole(use.tensor);
    Point point;
    point.first = first;
    point.last = last;
    point.recipe = std::move(recipe);
    try {
      const RunAlone placed = runs.apply(point);
      const RegionIndices indices = region_indices(placed.slice.program, placed.region);
      for (const std::vector<std::string>& order : candidate_orders(indices, space.max_orders)) {
        point.order = order;
        result.push_back(point);
      }
    } catch (const Error& error) {
      point.refused = error.what();
      result.push_back(point);
    }
  }
  return result;
}

}  // namespace

size_t KernelRuns::region_of(const Program& program, size_t kernel) const {
  const TensorId wanted = kernels_.regions[kernel].statements[0].result;
  const auto has = [&](const Region& region) {
    return std::any_of(region.statements.begin(), region.statements.end(),
                       [&](const Statement& s) { return s.result == wanted; });
  };
  const auto found = std::find_if(program.regions.begin(), program.regions.end(), has);
  return static_cast<size_t>(found - program.regions.begin());
}

Program KernelRuns::partition(const std::vector<size_t>& starts) const {
  const std::vector<Group> kernels = present_groups(kernels_);
  std::vector<Group> groups;
  size_t next = 0;
  for (size_t k = 0; k < kernels.size(); ++k) {
    if (next < starts.size() && starts[next] == k) {
      groups.push_back({"", {}});
      ++next;
    }
    auto& all = groups.back().statements;
    all.insert(all.end(), kernels[k].statements.begin(), kernels[k].statements.end());
  }
  PassLog log;
  return regroup(kernels_, std::move(groups), log);
}

namespace {

/// Lets accesses read copies in other formats.
void read_stored(Program& program, size_t region, const std::vector<StoredAccess>& stored) {
  for (const StoredAccess& access : stored) {
    const std::vector<Statement>& statements = program.regions[region].statements;
    const auto at = std::find_if(statements.begin(), statements.end(),
                                 [&](const Statement& s) { return s.result == access.result; });
    const auto s = static_cast<size_t>(at - statements.begin());
    const TensorId original = original_of(program, at->nodes[access.node].tensor);
    store_as(program, original, access.format, {{region, s, access.node}});
  }
}

}  // namespace

Program apply_point(Program program, size_t region, const Point& point) {
  if (point.as_given) return program;
  if (point.planned) return put_planned(std::move(program), region, *point.planned);
  Schedule& schedule = program.regions[region].schedule;
  if (program.regions[region].graph) program.regions[region].plan.clear();
  program.regions[region].graph.reset();
  for (const UsePlacement& placement : point.recipe.placements) {
    schedule.placements.push_back(placement);
  }
  read_stored(program, region, point.stored);
  Program placed = choose_placements(std::move(program), region, point.recipe.options).program;
  if (!point.order.empty()) placed.regions[region].schedule.order = point.order;
  if (!point.parallel.empty()) placed.regions[region].schedule.parallel = point.parallel;
  if (!point.joins.empty()) placed.regions[region].schedule.joins = point.joins;
  if (!point.stored.empty()) follow_copies(placed, region);
  return placed;
}

namespace {

/// Tensors of a whole program as those of a slice.
class OfSlice {
 public:
  explicit OfSlice(const std::vector<TensorId>& tensors) : tensors_(tensors) {}

  void operator()(TensorId& tensor) const {
    if (tensor < 0) return;
    const auto at = std::lower_bound(tensors_.begin(), tensors_.end(), tensor);
    const bool there = at != tensors_.end() && *at == tensor;
    tensor = there ? static_cast<TensorId>(at - tensors_.begin()) : -1;
  }

  /// Lines that name what the slice has not are left out.
  void operator()(std::vector<UsePlacement>& placements) const {
    std::erase_if(placements, [&](UsePlacement& use) {
      const bool of_all = use.consumer < 0;
      (*this)(use.tensor);
      (*this)(use.consumer);
      return use.tensor < 0 || (use.consumer < 0) != of_all;
    });
  }

  void operator()(PlannedRegion& region) const {
    for (TensorId& result : region.results) (*this)(result);
    each_tensor(region.graph, [&](TensorId& tensor) { (*this)(tensor); });
    for (auto& copy : region.copies) (*this)(copy.first);
    for (TensorId& tensor : region.dense) (*this)(tensor);
  }

  Point operator()(Point point) const {
    (*this)(point.recipe.placements);
    for (Join& join : point.joins) {
      for (TensorId& tensor : join.located) (*this)(tensor);
    }
    for (StoredAccess& access : point.stored) (*this)(access.result);
    if (point.planned) {
      auto planned = std::make_shared<PlannedRun>(*point.planned);
      for (PlannedRegion& region : *planned) (*this)(region);
      point.planned = std::move(planned);
    }
    return point;
  }

 private:
  const std::vector<TensorId>& tensors_;
};

}  // namespace

RunAlone KernelRuns::apply(const Point& point) const {
  RunAlone run = make(point.kernels());
  run.slice.program =
      apply_point(std::move(run.slice.program), run.region, OfSlice(run.slice.tensors)(point));
  return run;
}

namespace {

/// Kernels times placements of all runs that are enumerated: bounds the time before anything runs.
constexpr size_t kMostEnumerated = 30'000;

/// Which runs of kernels are tried: all that are short enough, and those of the seeds.
std::vector<Interval> intervals_of(size_t kernels, size_t longest, const std::vector<Seed>& seeds) {
  std::set<Interval> found;
  for (size_t first = 0; first < kernels; ++first) {
    for (size_t last = first; last < kernels && last - first < longest; ++last) {
      found.insert({first, last});
    }
  }
  if (longest == 0) return {};
  for (const Seed& seed : seeds) {
    for (const Seed::Part& part : seed.parts) found.insert(part.kernels());
  }
  return {found.begin(), found.end()};
}

/// The point of a region that a seed has planned for cores; once, if seeds agree.
void add_planned(std::vector<Point>& points, const Seed& seed, const Seed::Part& part) {
  const PlannedPart own{part.kernels(), part.planned};
  for (Point& point : points) {
    if (point.planned && own.same_as({point.kernels(), point.planned})) {
      return name_seed(point, seed.name);
    }
  }
  Point point;
  point.first = part.first;
  point.last = part.last;
  point.planned = part.planned;
  point.recipe.name = kTiles;
  point.seed = seed.name;
  points.push_back(std::move(point));
}

/// Marks the points that are the seeds' (the first order of the default and of the recomputing
/// placements), and adds those whose schedule or graph is given.
void add_seeds(std::vector<Point>& points, size_t first, size_t last,
               const std::vector<Seed>& seeds) {
  for (const Seed& seed : seeds) {
    for (const Seed::Part& part : seed.parts) {
      if (part.first != first || part.last != last) continue;
      if (part.planned) {
        add_planned(points, seed, part);
        continue;
      }
      std::set<std::string> done;
      for (Point& point : points) {
        const std::string& name = point.recipe.name;
        if (point.has_own_graph()) continue;
        if (name != "default" && (name != "recompute" || part.scheduled)) continue;
        if (done.insert(name).second) name_seed(point, seed.name);
      }
      if (!part.scheduled) continue;
      Point point = points.back();
      point.as_given = false;
      point.planned = nullptr;
      point.recipe = {"given", point.recipe.options, part.schedule.placements};
      point.order = part.schedule.order;
      point.parallel = part.schedule.parallel;
      point.joins = part.schedule.joins;
      point.stored = part.stored;
      point.seed = seed.name;
      point.refused.clear();
      points.push_back(std::move(point));
    }
  }
}

}  // namespace

bool is_of_seed(const Point& point, const std::string& name) {
  return ("; " + point.seed + ";").find("; " + name + ";") != std::string::npos;
}

void name_seed(Point& point, const std::string& names) {
  if (names.empty() || is_of_seed(point, names)) return;
  if (!point.seed.empty()) point.seed += "; ";
  point.seed += names;
}

size_t longest_run(size_t kernels, const SearchSpace& space) {
  size_t all = 0;
  size_t longest = 0;
  while (longest < std::min(kernels, space.max_kernels)) {
    all += (longest + 1) * (kernels - longest) * space.max_placements;
    if (longest > 0 && all > kMostEnumerated) break;
    ++longest;
  }
  return longest;
}

StreamKernels stream_kernels(const Program& kernels, const Machine& machine,
                             const std::vector<Seed>& seeds) {
  std::vector<Interval> planned;
  for (const Seed& seed : seeds) {
    for (const Seed::Part& part : seed.parts) {
      if (part.planned) planned.push_back(part.kernels());
    }
  }
  return left_to_streams(kernels, machine, planned);
}

void refuse_streams(std::vector<Point>& points, const Program& kernels, const Machine& machine,
                    const StreamKernels& may) {
  if (points.empty()) return;
  size_t kernel = points[0].first;
  while (kernel <= points[0].last && may[kernel]) ++kernel;
  if (kernel > points[0].last) return;
  for (Point& point : points) {
    const bool tiles = point.planned || (point.as_given && has_tiles(kernels.regions[point.first]));
    if (tiles || !point.refused.empty()) continue;
    point.refused = fmt::format("machine {} has no units for streams, and @{} has tiles",
                                machine.name, quote_if_needed(kernels.regions[kernel].name));
  }
}

std::vector<Point> enumerate_points(const Program& kernels, const Machine& machine,
                                    const SearchSpace& space, const std::vector<Seed>& seeds) {
  const KernelRuns runs(kernels);
  if (runs.size() == 0) {
    throw Error(ExitCode::rejected, "the program has no regions, so there is nothing to search");
  }
  for (const Region& region : kernels.regions) {
    if (!region.statements.empty()) continue;
    throw Error(ExitCode::rejected, region.where,
                fmt::format("region @{} has only a graph, so there is no other schedule of it; "
                            "expected its statements",
                            quote_if_needed(region.name)));
  }
  const std::vector<Interval> intervals =
      intervals_of(runs.size(), longest_run(runs.size(), space), seeds);
  if (intervals.empty() || space.max_orders == 0 || space.max_placements == 0) {
    throw Error(ExitCode::rejected, fmt::format("the search space is empty: {} is 0",
                                                intervals.empty()       ? "--max-kernels"
                                                : space.max_orders == 0 ? "--max-orders"
                                                                        : "--max-placements"));
  }
  const StreamKernels streams = stream_kernels(kernels, machine, seeds);
  std::vector<std::vector<Point>> found(intervals.size());
  parallel_for(size_t{0}, intervals.size(), [&](size_t i) {
    const auto [first, last] = intervals[i];
    // Placing long runs takes most of the time; kernels by themselves are always there.
    if (first == last || !interrupted()) {
      found[i] = points_of(kernels, first, last, runs, machine, space);
    }
    add_seeds(found[i], first, last, seeds);
    refuse_streams(found[i], kernels, machine, streams);
  });
  std::vector<Point> result;
  for (std::vector<Point>& some : found) {
    for (Point& point : some) {
      point.id = result.size();
      result.push_back(std::move(point));
    }
  }
  return result;
}

}  // namespace fuseflow
