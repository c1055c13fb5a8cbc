#include "cluster/kernels/tiles.h"

#include <algorithm>
#include <iterator>

#include "chip/needs.h"
#include "cluster/common/candidates.h"
#include "cluster/kernels/present_tiles.h"
#include "cluster/kernels/product_cost.h"
#include "cluster/kernels/row_kernels.h"
#include "nodes/kernel_check.h"
#include "sim/tiles/timing.h"
#include "support/ceil_div.h"

namespace fuseflow::cluster {
namespace {

constexpr int64_t kLargestBlock = 256;  ///< elements along a dimension of a tile
constexpr size_t kMostSimulated = 12;
constexpr size_t kMostOfClusters = 4;             ///< ... of each size of clusters
constexpr size_t kMostOfParts = 24;               ///< ... of all with k in parts
constexpr int64_t kMostAddingTried = 16;          ///< clusters that add to a tile in memory
constexpr int64_t kMostSteps = int64_t{1} << 18;  ///< products or rows of tiles, of all cores

using ProductCandidate = Candidate<ProductTiles>;

/// Can tiles of so many rows and k be shared so?
bool fits(const KernelSizes& size, int64_t m, int64_t k, const ProductSharing& by) {
  return ceil_div(size[kKernelM], m) >= by.cores &&
         m % (int64_t{by.column_cores} * by.parts.cores) == 0 &&
         ceil_div(size[kKernelK], k) >= by.parts.all();
}

/// Columns of tiles: where a second product takes them all, or a part for each core
/// of a cluster; none where they cannot be cut so.
std::vector<int64_t> column_blocks(const KernelForm& form, int column_cores) {
  const int64_t columns = sizes_of(form)[kKernelN];
  if (form.second_product < 0) return power_blocks(columns, kLargestBlock);
  const int64_t part = ceil_div(columns, int64_t{column_cores});
  if (ceil_div(columns, part) != column_cores) return {};
  return {part};
}

/// Steps of tiles of so many rows; one number where the product leaves nothing out.
StepsOfRows steps_of_rows(const KernelForm& form, int64_t block_m, int64_t block_k) {
  if (form.present == nullptr) return {ceil_div(sizes_of(form)[kKernelK], block_k)};
  StepsOfRows steps;
  for (const std::vector<TileRange>& ranges : form.present->tiles(block_m, block_k)) {
    int64_t row = 0;
    for (const TileRange& range : ranges) row += range.end - range.begin;
    steps.push_back(row);
  }
  return steps;
}

enum class Steps { tiles, gathered_rows };

/// All tiles of a product that is shared in one of these ways.
std::vector<ProductCandidate> product_tiles(const KernelForm& form,
                                            const std::vector<ProductSharing>& ways,
                                            const Machine& machine, Steps how) {
  const KernelSizes size = sizes_of(form);
  const ProductCost cost(form, machine);
  const bool gathers = how == Steps::gathered_rows;
  const std::vector<int64_t> depths =
      gathers ? std::vector<int64_t>{1} : power_blocks(size[kKernelK], kLargestBlock);
  const std::vector<int64_t> packed_rows =
      gathers ? power_blocks(size[kKernelK], kMostGathered) : std::vector<int64_t>{0};
  std::vector<ProductCandidate> all;
  for (const int64_t m : power_blocks(size[kKernelM], kLargestBlock)) {
    for (const int64_t k : depths) {
      const StepsOfRows steps = steps_of_rows(form, m, k);
      for (const ProductSharing& by : ways) {
        if (!fits(size, m, k, by)) continue;
        for (const int64_t packed : packed_rows) {
          for (const int64_t n : column_blocks(form, by.column_cores)) {
            const ProductTiles tiles{{m, n, k, 1}, packed, by};
            if (cost.work(tiles) > kMostSteps) continue;
            if (cost.steps(tiles, steps) > static_cast<double>(kMostSteps)) continue;
            all.push_back({tiles, {}, cost.cycles(tiles, steps)});
          }
        }
      }
    }
  }
  return all;
}

/// Can the cores that share the columns each finish a share of the rows? Not where what follows
/// takes rows of a load that something before takes, too: the rules of the graph say.
bool shares_rows(const Graph& graph) {
  bool sound = true;
  verify_kernel(graph, [&](NodeId, const std::string&) { sound = false; });
  return sound;
}

/// With as many copies of the loads as fit.
std::optional<Graph> fitting(const KernelForm& form, const ProductTiles& tiles,
                             const Machine& machine) {
  for (int64_t copies = kMostCopiesTried; copies > 0; --copies) {
    Graph graph = kernel_graph(form, tiles.block, copies, tiles.gathered, tiles.by.parts);
    graph.indices[kKernelM].tiling.cluster = tiles.by.cores;
    const bool leaves_out = tiles.gathered > 0 || form.second_product >= 0;
    if (leaves_out && graph.tiles->open.empty()) return std::nullopt;  // takes all rows
    const bool shares = tiles.by.column_cores > 1 || tiles.by.parts.cores > 1;
    if (shares && !shares_rows(graph)) return std::nullopt;
    if (fits_core(kernel_need(graph), machine) && chip::fits_chip(graph, machine)) return graph;
  }
  return std::nullopt;
}

/// The fastest of them, where it is faster than `best`; only `most` are simulated.
std::optional<FastestKernel> fastest_of(std::vector<ProductCandidate> candidates, size_t most,
                                        const KernelForm& form, const Machine& machine,
                                        std::optional<FastestKernel> best = std::nullopt) {
  auto plan = cluster::fastest_of(
      std::move(candidates), most, best ? best->measured.cycles : 0, machine,
      [&](const ProductCandidate& candidate) { return fitting(form, candidate.tiles, machine); });
  if (plan) best = FastestKernel{std::move(plan->graph), plan->measured};
  return best;
}

/// The fastest product with all of k on a core: of single cores, or of clusters where these are
/// faster.
std::optional<FastestKernel> fastest_whole(const KernelForm& form, const Machine& machine,
                                           Steps how) {
  const auto tiles = [&](int cores) { return product_tiles(form, {{cores}}, machine, how); };
  std::optional<FastestKernel> best = fastest_of(tiles(1), kMostSimulated, form, machine);
  if (how == Steps::gathered_rows) return best;  // no tile that cores could share
  for (const int cores : kKernelClusters) {
    if (!best || machine.concurrent_clusters(cores) < 1) continue;
    best = fastest_of(tiles(cores), kMostOfClusters, form, machine, std::move(best));
  }
  return best;
}

/// The fastest product with k whole or in parts: of the cores of a cluster, and of clusters that
/// add to the result in memory.
std::optional<FastestKernel> fastest_product(const KernelForm& form, const Machine& machine,
                                             Steps how) {
  std::optional<FastestKernel> best = fastest_whole(form, machine, how);
  const bool sums = sums_follow(form);
  std::vector<ProductSharing> over_links, in_memory;
  for (const int cores : {1, 2, 4, 8, 16}) {
    if (machine.concurrent_clusters(cores) < 1) continue;
    if (cores > 1) over_links.push_back({1, 1, {cores, 1}});
    for (int64_t clusters = 2; sums && clusters <= kMostAddingTried; clusters *= 2) {
      in_memory.push_back({1, 1, {cores, clusters}});
    }
  }
  for (const std::vector<ProductSharing>& ways : {over_links, in_memory}) {
    std::vector<ProductCandidate> all = product_tiles(form, ways, machine, how);
    // What costs more than another takes is not faster (product_cost.h).
    std::erase_if(all, [&](const ProductCandidate& candidate) {
      return best && candidate.cost >= static_cast<double>(best->measured.cycles);
    });
    best = fastest_of(std::move(all), kMostOfParts, form, machine, std::move(best));
  }
  return best;
}

std::optional<FastestKernel> fastest_dense(const KernelForm& form, const Machine& machine) {
  if (form.product) return fastest_product(form, machine, Steps::tiles);
  std::optional<RowKernelPlan> plan = fastest_row_kernel(form, machine);
  if (!plan) return std::nullopt;
  return FastestKernel{std::move(plan->graph), plan->measured};
}

/// The fewer cycles of those of the two that exist; 0: neither does.
int64_t least_cycles(const std::optional<FastestKernel>& a, const std::optional<FastestKernel>& b) {
  if (!a || !b) return a ? a->measured.cycles : b ? b->measured.cycles : 0;
  return std::min(a->measured.cycles, b->measured.cycles);
}

/// Tiles of a form with a second product, of clusters that share the columns.
std::vector<ProductCandidate> column_tiles(const KernelForm& form, int cores,
                                           const Machine& machine) {
  const std::vector<ProductSharing> by{{1, cores}};
  std::vector<ProductCandidate> all = product_tiles(form, by, machine, Steps::tiles);
  if (!form.gathered) return all;
  std::vector<ProductCandidate> gathered = product_tiles(form, by, machine, Steps::gathered_rows);
  std::move(gathered.begin(), gathered.end(), std::back_inserter(all));
  return all;
}

/// The one that takes fewer cycles, of equal ones the first.
std::optional<FastestKernel> faster(std::optional<FastestKernel> a,
                                    std::optional<FastestKernel> b) {
  return b && (!a || b->measured.cycles < a->measured.cycles) ? std::move(b) : std::move(a);
}

}  // namespace

std::optional<FastestKernel> fastest_kernel(const KernelForm& form, const Machine& machine,
                                            const KernelForm* sparse) {
  std::optional<FastestKernel> whole = fastest_dense(form, machine);
  if (sparse == nullptr) return whole;
  std::optional<FastestKernel> part = fastest_product(*sparse, machine, Steps::tiles);
  if (sparse->gathered) {
    const int64_t ungathered = least_cycles(part, whole);
    std::optional<FastestKernel> rows = fastest_product(*sparse, machine, Steps::gathered_rows);
    if (rows) rows->ungathered_cycles = ungathered;
    part = faster(std::move(part), std::move(rows));
  }
  if (!part || (whole && whole->measured.cycles <= part->measured.cycles)) return whole;
  part->dense_cycles = whole ? whole->measured.cycles : 0;
  return part;
}

std::optional<FastestKernel> fastest_two_products(const KernelForm& form, const Machine& machine) {
  std::optional<FastestKernel> best = fastest_whole(form, machine, Steps::tiles);
  if (form.gathered) best = faster(best, fastest_whole(form, machine, Steps::gathered_rows));
  for (const int cores : kSummingClusters) {
    if (machine.concurrent_clusters(cores) < 1) continue;
    best = fastest_of(column_tiles(form, cores, machine), kMostOfClusters, form, machine,
                      std::move(best));
  }
  return best;
}

}  // namespace fuseflow::cluster
