#include "cluster/online/tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "chip/needs.h"
#include "cluster/common/load_cycles.h"
#include "sim/tiles/kernel_counts.h"
#include "sim/tiles/lanes.h"
#include "support/ceil_div.h"

namespace fuseflow::cluster {
namespace {

constexpr int64_t kMostStepsTried = 2;
constexpr int64_t kMostBlock = 256;
constexpr size_t kMostSimulated = 12;
constexpr int64_t kMostSteps = int64_t{1} << 17;  ///< of all tiles

int64_t tiles_of(const KernelSizes& size, const KernelSizes& block) {
  return ceil_div(size[kKernelM], block[kKernelM]) * ceil_div(size[kKernelN], block[kKernelN]) *
         size[kKernelG];
}

/// Steps of a tile of rows: all, or the mean of those that are open.
double steps_of(const Graph& graph, int64_t all) {
  if (graph.tiles->open.empty()) return static_cast<double>(all);
  int64_t steps = 0;
  for (const std::vector<TileRange>& ranges : graph.tiles->open) {
    for (const TileRange& range : ranges) steps += range.end - range.begin;
  }
  return static_cast<double>(steps) / static_cast<double>(graph.tiles->open.size());
}

/// What a step loads; what does not differ along rows the cores of a cluster share, but for what
/// multicast does not deliver.
StepBytes step_bytes(const Graph& graph, const std::vector<NodeId>& loads, bool multicast) {
  const std::vector<bool> by_threads = loads_by_threads(graph);
  StepBytes bytes;
  for (const NodeId n : loads) {
    const Node& load = graph.nodes[static_cast<size_t>(n)];
    const auto varies = varies_along(graph, load);
    if (!varies[kKernelK]) continue;
    const bool alone = varies[kKernelM] || (multicast && by_threads[static_cast<size_t>(n)]);
    (alone ? bytes.own : bytes.shared) +=
        static_cast<double>(tile_elements(graph, load.outputs[0]) * moved_bytes(graph, load));
  }
  return bytes;
}

/// From when the slowest core of a cluster has walked its part until all have the sum of them:
/// reductions of rows, one after the other, and of the result, which each core has a share of.
double join_cycles(const Graph& graph, const Machine& machine) {
  double cycles = 0;
  for (const NodeId n : kernel_roles(graph).exchanges) {
    const Node& exchange = graph.nodes[static_cast<size_t>(n)];
    cycles += exchange_cycles(static_cast<double>(exchanged_bytes(graph, exchange)),
                              depth_cores(graph), machine);
  }
  return cycles;
}

/// What the matrix unit and the lanes do in a step, in cycles.
struct StepWork {
  double matrix = 0, lanes = 0;
};

StepWork step_work(const Graph& graph, const std::vector<NodeId>& nodes, const Machine& machine) {
  const int64_t element = graph.tiles->element_bytes;
  StepWork work;
  for (const NodeId n : nodes) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    if (node.kind == NodeKind::tile_multiply) {
      const ProductExtents extents = product_extents(graph, node);
      work.matrix += machine.matrix_work(extents.rows, extents.columns, extents.depth, element);
    } else if (node.kind != NodeKind::tile_hold) {
      work.lanes += lane_cycles(kernel_lanes(graph, node), machine);
    }
  }
  work.matrix /= machine.matrix_rate(element);
  return work;
}

/// Cycles of the slowest core, roughly: in each step the largest of what its matrix unit, its lanes
/// and its loads take, or the sum of the first two where one step is there at a time.
double cost_of(const KernelSizes& size, const OnlineTiles& tiles, const Graph& graph,
               const Machine& machine) {
  const KernelRoles roles = kernel_roles(graph);
  // Tiles that all clusters have at a time.
  const int64_t at_a_time =
      std::max<int64_t>(machine.concurrent_clusters(tiles.all_cores()), 1) * tiles.cores;
  const int64_t all = tiles_of(size, tiles.block);
  const int64_t at_work = std::min(at_a_time, all) * tiles.parts;
  double steps = steps_of(graph, ceil_div(size[kKernelK], tiles.block[kKernelK]));
  if (tiles.parts > 1) steps = std::ceil(steps / tiles.parts);
  const auto walks = kernel_walks(graph, roles);
  double first = 0, a_tile = join_cycles(graph, machine);
  for (size_t walk = 0; walk < walks.size(); ++walk) {
    const StepWork work = step_work(graph, walks[walk], machine);
    const StepBytes bytes =
        step_bytes(graph, loads_of_walk(graph, roles, walks, walk), machine.links.multicast);
    const double path = load_path(bytes, tiles.cores, machine);
    const double loads = std::max(load_cycles(bytes, tiles.cores, at_work, machine),
                                  path / static_cast<double>(tiles.copies));
    const double computed =
        tiles.steps > 1 ? std::max(work.matrix, work.lanes) : work.matrix + work.lanes;
    if (walk == 0) first = path;
    a_tile += steps * std::max(computed, loads);
  }
  return first + static_cast<double>(ceil_div(all, at_a_time)) * a_tile;
}

/// The candidate with as many copies of its loads as fit; nothing where none fits.
std::optional<Candidate<OnlineTiles>> fitting(const OnlineForm& form, OnlineTiles tiles,
                                              const Machine& machine) {
  for (tiles.copies = kMostCopiesTried; tiles.copies > 0; --tiles.copies) {
    Candidate<OnlineTiles> candidate{tiles, online_graph(form, tiles), 0};
    if (!fits_core(kernel_need(candidate.graph), machine)) continue;
    if (!chip::fits_chip(candidate.graph, machine)) continue;
    candidate.cost = cost_of(sizes_of(form.digits), tiles, candidate.graph, machine);
    return candidate;
  }
  return std::nullopt;
}

/// Is there a share of the result, of rows or of columns, for each core that has a part of k?
bool has_shares(const KernelSizes& block, int parts) {
  return block[kKernelM] % parts == 0 || block[kKernelN] % parts == 0;
}

/// What tiles have to pass, in this order.
enum class Test : uint8_t { clusters, tiles, steps, shares, room };

struct Candidates {
  std::vector<Candidate<OnlineTiles>> all;
  int64_t plans = 0;             ///< that were added, those taken out since, too
  Test failed = Test::clusters;  ///< of those that some tiles failed, the last

  bool pass(Test test, bool passes) {
    if (!passes) failed = std::max(failed, test);
    return passes;
  }
};

/// Adds the candidates with the cores that `cluster` has.
void add_candidates(const OnlineForm& form, const OnlineTiles& cluster, const Machine& machine,
                    Candidates& found) {
  if (!found.pass(Test::clusters, machine.concurrent_clusters(cluster.all_cores()) >= 1)) return;
  const KernelSizes size = sizes_of(form.digits);
  const int64_t most_steps = form.product >= 0 ? kMostStepsTried : 1;
  const bool built = chip::chip_of(machine).has_value();
  const int64_t unit = built ? chip::kUnit : 1;
  const int64_t keys_unit =
      built ? chip::depth_unit(form.tensors.at(form.values.tensor).element_bytes) : 1;
  for (const int64_t m : even_blocks(size[kKernelM], kMostBlock, unit)) {
    if (!found.pass(Test::tiles, ceil_div(size[kKernelM], m) >= cluster.cores)) continue;
    for (const int64_t n : even_blocks(size[kKernelN], 2 * kMostBlock, unit)) {
      for (const int64_t k : even_blocks(size[kKernelK], kMostBlock, keys_unit)) {
        const int64_t along_k = ceil_div(size[kKernelK], k);
        if (!found.pass(Test::tiles, along_k >= cluster.parts)) continue;
        for (int64_t steps = 1; steps <= most_steps; ++steps) {
          const OnlineTiles tiles{{m, n, k, 1}, 1, steps, cluster.cores, cluster.parts};
          const int64_t all = tiles_of(size, tiles.block) * along_k;
          const bool parts = cluster.parts > 1;
          if (!found.pass(Test::steps, all <= kMostSteps)) continue;
          if (!found.pass(Test::shares, !parts || has_shares(tiles.block, cluster.parts))) continue;
          auto candidate = fitting(form, tiles, machine);
          if (!found.pass(Test::room, candidate.has_value())) continue;
          found.all.push_back(std::move(*candidate));
          ++found.plans;
        }
      }
    }
  }
}

/// Why there are no candidates; `one_tile` is why there are no tiles for all cores.
std::string why_none(const Candidates& none, const std::string& one_tile) {
  switch (none.failed) {
    case Test::clusters:
      return "the machine has no clusters";
    case Test::tiles:
      return one_tile;
    case Test::steps:
      return fmt::format("its tiles have more than {} steps", kMostSteps);
    case Test::shares:
      return "a tile of its result has no share for each core of a cluster";
    case Test::room:
      break;
  }
  return "no tiles of it for clusters fit a core";
}

SpreadTried tried(const Candidates& found, const char* one_tile, int64_t size) {
  const bool none = found.plans == 0;
  return {none ? why_none(found, fmt::format(fmt::runtime(one_tile), size)) : "", found.plans, 0};
}

SpreadTried tried_rows(const OnlineForm& form, const Candidates& found) {
  return tried(found, "its rows ({}) are one tile", sizes_of(form.digits)[kKernelM]);
}

/// Weights that are rounded have to be whole, for which a core needs all keys.
constexpr const char* kWholeWeights = "its weights are rounded when all keys are known";

SpreadTried tried_keys(const OnlineForm& form, const Candidates& found) {
  if (form.rounded) return {kWholeWeights, 0, 0};
  return tried(found, "its keys ({}) are one step", sizes_of(form.digits)[kKernelK]);
}

Candidates with_parts(const OnlineForm& form, const Machine& machine) {
  Candidates found;
  if (form.rounded) return found;
  for (const int parts : kSummingClusters) add_candidates(form, {.parts = parts}, machine, found);
  return found;
}

/// The fastest with k in parts, where one is faster than `best`. Looked at is what costs less than
/// that, which most plans that have a tile for each core already are not.
std::optional<OnlinePlan> fastest_split(const OnlineForm& form, const OnlinePlan& best,
                                        const Machine& machine, SpreadTried& spread) {
  const double most = cost_of(sizes_of(form.digits), best.tiles, best.graph, machine);
  Candidates found = with_parts(form, machine);
  spread = tried_keys(form, found);
  std::erase_if(found.all, [&](const auto& candidate) { return candidate.cost >= most; });
  spread.simulated = static_cast<int64_t>(std::min(kMostSimulated, found.all.size()));
  return fastest_of(std::move(found.all), kMostSimulated, best.measured.cycles, machine);
}

/// The fastest of clusters that share keys and values, where one is faster than `best`.
std::optional<OnlinePlan> fastest_linked(const OnlineForm& form, const OnlinePlan& best,
                                         const Machine& machine, SpreadTried& spread) {
  Candidates found;
  std::optional<OnlinePlan> fastest;
  int64_t simulated = 0;
  for (const int cores : kKernelClusters) {
    add_candidates(form, {.cores = cores}, machine, found);
    simulated += static_cast<int64_t>(std::min(kMostSimulated, found.all.size()));
    const int64_t most = (fastest ? *fastest : best).measured.cycles;
    auto linked = fastest_of(std::exchange(found.all, {}), kMostSimulated, most, machine);
    if (linked) fastest = std::move(linked);
  }
  spread = tried_rows(form, found);
  spread.simulated = simulated;
  return fastest;
}

}  // namespace

std::optional<OnlinePlan> fastest_online(const OnlineForm& form, const Machine& machine,
                                         OnlineSpread* spread) {
  OnlineSpread unasked;
  if (spread == nullptr) spread = &unasked;
  Candidates single;
  add_candidates(form, {}, machine, single);
  std::optional<OnlinePlan> best = fastest_of(std::move(single.all), kMostSimulated, 0, machine);
  if (!best) return best;
  if (auto linked = fastest_linked(form, *best, machine, spread->rows)) best = std::move(linked);
  auto split = fastest_split(form, *best, machine, spread->keys);
  return split ? std::move(split) : std::move(best);
}

OnlineSpread online_spread(const OnlineForm& form, const Machine& machine) {
  Candidates rows;
  for (const int cores : kKernelClusters) add_candidates(form, {.cores = cores}, machine, rows);
  return {tried_rows(form, rows), tried_keys(form, with_parts(form, machine))};
}

}  // namespace fuseflow::cluster
