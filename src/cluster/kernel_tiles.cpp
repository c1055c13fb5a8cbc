#include "cluster/kernel_tiles.h"

#include <algorithm>
#include <tuple>

#include "cluster/candidates.h"
#include "cluster/present_tiles.h"
#include "sim/tiles/timing.h"
#include "support/ceil_div.h"

namespace fuseflow::cluster {
namespace {

constexpr int64_t kMostCopiesTried = 4;
constexpr size_t kMostSimulated = 12;
constexpr int64_t kMostSteps = int64_t{1} << 18;  ///< products or rows of tiles, of all cores

struct Candidate {
  KernelSizes block{1, 1, 1, 1};
  double cost = 0, steps = 0;
  size_t number = 0;
  int64_t gathered = 0;  ///< rows that a step packs; 0: it takes a tile of k
  bool operator<(const Candidate& other) const {
    return std::tie(cost, number) < std::tie(other.cost, other.number);
  }
};

int64_t tiles_of(const KernelSizes& size, const KernelSizes& block) {
  return ceil_div(size[kKernelM], block[kKernelM]) * ceil_div(size[kKernelN], block[kKernelN]) *
         size[kKernelG];
}

int64_t steps_of(const KernelSizes& size, const KernelSizes& block) {
  return ceil_div(size[kKernelK], block[kKernelK]);
}

/// Cycles of a step of a tile, and of its store, roughly: loads against what they compute.
struct TileCosts {
  double step = 0, stored = 0;
};

TileCosts costs_of(const KernelSizes& size, const KernelSizes& b, int64_t element,
                   const Machine& machine) {
  const auto cores = static_cast<double>(std::max<int64_t>(machine.concurrent_clusters(1), 1));
  const auto tiles = static_cast<double>(tiles_of(size, b));
  const double loaded = static_cast<double>((b[kKernelM] + b[kKernelN]) * b[kKernelK] * element);
  const double work = machine.matrix_work(b[kKernelM], b[kKernelN], b[kKernelK], element);
  const double at_work = std::min(cores, tiles);
  double rate = machine.core.port_bytes_per_cycle;
  if (machine.has_l2()) rate = std::min(rate, machine.l2.bytes_per_cycle / at_work);
  const double step = std::max(loaded / rate, work / machine.matrix_rate(element));
  return {step, static_cast<double>(b[kKernelM] * b[kKernelN] * element) / rate};
}

/// Of a step that gathers `packed` rows one by one: whole bursts, a cycle of the port at least.
TileCosts gathered_costs(const KernelSizes& size, const KernelSizes& b, int64_t packed,
                         int64_t element, const Machine& machine) {
  KernelSizes whole = b;
  whole[kKernelK] = packed;
  TileCosts costs = costs_of(size, whole, element, machine);
  const int64_t burst = machine.dram.burst_bytes;
  const auto bursts = [&](int64_t elements) { return ceil_div(elements * element, burst) * burst; };
  const auto loaded = static_cast<double>(packed * (bursts(b[kKernelM]) + bursts(b[kKernelN])));
  const double at_work = static_cast<double>(
      std::min(std::max<int64_t>(machine.concurrent_clusters(1), 1), tiles_of(size, b)));
  double rate = machine.core.port_bytes_per_cycle;
  if (machine.has_l2()) rate = std::min(rate, machine.l2.bytes_per_cycle / at_work);
  costs.step = std::max({costs.step, loaded / rate, 2.0 * static_cast<double>(packed)});
  return costs;
}

/// Cycles of the slowest core, roughly.
double cost_of(const KernelSizes& size, const KernelSizes& b, int64_t element,
               const Machine& machine) {
  const int64_t cores = std::max<int64_t>(machine.concurrent_clusters(1), 1);
  const auto a_core = static_cast<double>(ceil_div(tiles_of(size, b), cores));
  const TileCosts costs = costs_of(size, b, element, machine);
  return a_core * (static_cast<double>(steps_of(size, b)) * costs.step + costs.stored);
}

/// Steps of each tile of rows, of all elements of the batch that differ.
using StepsOfRows = std::vector<int64_t>;

StepsOfRows present_steps(const PresentElements& present, int64_t block_m, int64_t block_k) {
  StepsOfRows steps;
  for (const std::vector<TileRange>& ranges : present.tiles(block_m, block_k)) {
    int64_t row = 0;
    for (const TileRange& range : ranges) row += range.end - range.begin;
    steps.push_back(row);
  }
  return steps;
}

/// Tiles of the result of which each tile of rows has its own steps: `visit(number, steps)`.
template <typename Visit>
void for_each_tile(const KernelSizes& size, const KernelSizes& b, const StepsOfRows& steps,
                   const Visit& visit) {
  const int64_t columns = ceil_div(size[kKernelN], b[kKernelN]);
  for (int64_t tile = 0; tile < tiles_of(size, b); ++tile) {
    visit(tile, steps[static_cast<size_t>(tile / columns) % steps.size()]);
  }
}

/// ... where rows have steps of their own.
double cost_of(const KernelSizes& size, const KernelSizes& b, const TileCosts& costs,
               const Machine& machine, const StepsOfRows& steps) {
  const int64_t cores = std::max<int64_t>(machine.concurrent_clusters(1), 1);
  std::vector<double> of_core(static_cast<size_t>(std::min(cores, tiles_of(size, b))), 0);
  for_each_tile(size, b, steps, [&](int64_t tile, int64_t taken) {
    of_core[static_cast<size_t>(tile) % of_core.size()] +=
        static_cast<double>(taken) * costs.step + costs.stored;
  });
  return *std::max_element(of_core.begin(), of_core.end());
}

double all_steps(const KernelSizes& size, const KernelSizes& b, const StepsOfRows& steps) {
  double all = 0;
  for_each_tile(size, b, steps, [&](int64_t, int64_t taken) { all += static_cast<double>(taken); });
  return all;
}

void sort(std::vector<Candidate>& candidates) {
  std::sort(candidates.begin(), candidates.end());
}

std::vector<Candidate> product_tiles(const KernelForm& form, const Machine& machine) {
  const KernelSizes size = sizes_of(form);
  std::vector<Candidate> all;
  for (const int64_t m : power_blocks(size[kKernelM], 256)) {
    for (const int64_t n : power_blocks(size[kKernelN], 256)) {
      for (const int64_t k : power_blocks(size[kKernelK], 256)) {
        Candidate candidate{{m, n, k, 1}, 0, 0, all.size()};
        candidate.cost = cost_of(size, candidate.block, form.element_bytes, machine);
        candidate.steps = static_cast<double>(tiles_of(size, candidate.block)) *
                          static_cast<double>(steps_of(size, candidate.block));
        all.push_back(candidate);
      }
    }
  }
  sort(all);
  return all;
}

/// The same with the steps that are there: their number depends on rows and k of a tile.
std::vector<Candidate> sparse_tiles(const KernelForm& form, const Machine& machine) {
  const KernelSizes size = sizes_of(form);
  std::vector<Candidate> all;
  for (const int64_t m : power_blocks(size[kKernelM], 256)) {
    for (const int64_t k : power_blocks(size[kKernelK], 256)) {
      const StepsOfRows steps = present_steps(*form.present, m, k);
      for (const int64_t n : power_blocks(size[kKernelN], 256)) {
        Candidate candidate{{m, n, k, 1}, 0, 0, all.size()};
        if (tiles_of(size, candidate.block) > kMostSteps) continue;
        const TileCosts costs = costs_of(size, candidate.block, form.element_bytes, machine);
        candidate.cost = cost_of(size, candidate.block, costs, machine, steps);
        candidate.steps = all_steps(size, candidate.block, steps);
        all.push_back(candidate);
      }
    }
  }
  sort(all);
  return all;
}

/// The same with rows gathered: blocks of one k, of which a step packs up to 256.
std::vector<Candidate> gathered_tiles(const KernelForm& form, const Machine& machine) {
  const KernelSizes size = sizes_of(form);
  std::vector<Candidate> all;
  for (const int64_t m : power_blocks(size[kKernelM], 256)) {
    const StepsOfRows rows = present_steps(*form.present, m, 1);
    for (const int64_t packed : power_blocks(size[kKernelK], kMostGathered)) {
      StepsOfRows steps = rows;
      for (int64_t& taken : steps) taken = ceil_div(taken, packed);
      for (const int64_t n : power_blocks(size[kKernelN], 256)) {
        Candidate candidate{{m, n, 1, 1}, 0, 0, all.size(), packed};
        if (tiles_of(size, candidate.block) > kMostSteps) continue;
        const TileCosts costs =
            gathered_costs(size, candidate.block, packed, form.element_bytes, machine);
        candidate.cost = cost_of(size, candidate.block, costs, machine, steps);
        candidate.steps = all_steps(size, candidate.block, steps);
        all.push_back(candidate);
      }
    }
  }
  sort(all);
  return all;
}

/// Of elementwise kernels and reductions of rows: tiles of few elements first.
std::vector<Candidate> row_tiles(const KernelForm& form) {
  const KernelSizes size = sizes_of(form);
  const bool reduces = size[kKernelK] > 1;
  const KernelDim along = reduces ? kKernelK : kKernelN;
  std::vector<Candidate> all;
  for (const int64_t elements : {256, 512, 1024, 2048, 4096}) {
    for (const int64_t width : {128, 512, 2048}) {
      Candidate candidate;
      candidate.block[along] = even_block(size[along], std::min<int64_t>(width, elements));
      const int64_t rows = std::max<int64_t>(elements / candidate.block[along], 1);
      candidate.block[kKernelM] = even_block(size[kKernelM], rows);
      candidate.number = all.size();
      candidate.steps = static_cast<double>(tiles_of(size, candidate.block)) *
                        static_cast<double>(steps_of(size, candidate.block));
      const bool known = std::any_of(all.begin(), all.end(), [&](const Candidate& other) {
        return other.block == candidate.block;
      });
      if (!known) all.push_back(candidate);
    }
  }
  return all;
}

/// With as many copies of the loads as fit.
std::optional<Graph> fitting(const KernelForm& form, const Candidate& candidate,
                             const Machine& machine) {
  for (int64_t copies = kMostCopiesTried; copies > 0; --copies) {
    Graph graph = kernel_graph(form, candidate.block, copies, candidate.gathered);
    if (candidate.gathered > 0 && graph.tiles->open.empty()) return std::nullopt;  // takes all rows
    if (fits_core(kernel_need(graph), machine)) return graph;
  }
  return std::nullopt;
}

/// The fastest of them; of products only so many are simulated.
std::optional<FastestKernel> fastest_of(const std::vector<Candidate>& candidates,
                                        const KernelForm& form, const Machine& machine) {
  std::optional<FastestKernel> best;
  size_t simulated = 0;
  for (const Candidate& candidate : candidates) {
    if (candidate.steps > static_cast<double>(kMostSteps)) continue;
    std::optional<Graph> graph = fitting(form, candidate, machine);
    if (!graph) continue;
    LaunchOptions options;
    options.most_cycles = best ? best->measured.cycles : 0;
    const Measured measured = time_tiles(*graph, machine, options);
    if (measured.finished && (!best || measured.cycles < best->measured.cycles)) {
      best = FastestKernel{std::move(*graph), measured};
    }
    if (++simulated == kMostSimulated && form.product) break;
  }
  return best;
}

}  // namespace

std::optional<FastestKernel> fastest_kernel(const KernelForm& form, const Machine& machine,
                                            const KernelForm* sparse) {
  std::optional<FastestKernel> whole =
      fastest_of(form.product ? product_tiles(form, machine) : row_tiles(form), form, machine);
  if (sparse == nullptr) return whole;
  std::optional<FastestKernel> part = fastest_of(sparse_tiles(*sparse, machine), *sparse, machine);
  if (sparse->gathered) {
    std::optional<FastestKernel> rows =
        fastest_of(gathered_tiles(*sparse, machine), *sparse, machine);
    if (rows && (!part || rows->measured.cycles < part->measured.cycles)) part = std::move(rows);
  }
  if (!part || (whole && whole->measured.cycles <= part->measured.cycles)) return whole;
  part->dense_cycles = whole ? whole->measured.cycles : 0;
  return part;
}

}  // namespace fuseflow::cluster
