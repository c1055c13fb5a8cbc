#include "cluster/kernels/tiles.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "cluster/common/candidates.h"
#include "cluster/common/load_cycles.h"
#include "cluster/kernels/present_tiles.h"
#include "cluster/kernels/row_kernels.h"
#include "nodes/kernel_rules.h"
#include "sim/tiles/timing.h"
#include "support/ceil_div.h"

namespace fuseflow::cluster {
namespace {

constexpr size_t kMostSimulated = 12;
constexpr size_t kMostOfClusters = 4;             ///< ... of each size of clusters
constexpr size_t kMostOfParts = 24;               ///< ... of all with k in parts
constexpr int64_t kMostAddingTried = 16;          ///< clusters that add to a tile in memory
constexpr int64_t kMostSteps = int64_t{1} << 18;  ///< products or rows of tiles, of all cores

/// Who shares a product: cores of a cluster, in one way, and clusters k.
struct Sharing {
  int cores = 1;  ///< have tiles of rows that follow each other, and share those of the columns
  int column_cores = 1;  ///< have a part of the columns each: block[n]
  DepthParts parts = {};
};

struct Candidate {
  KernelSizes block{1, 1, 1, 1};
  double cost = 0, steps = 0;
  size_t number = 0;
  int64_t gathered = 0;  ///< rows that a step packs; 0: it takes a tile of k
  Sharing by = {};
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

/// Bytes of an element of a product's operands and result; products run at `work`.
struct FormBytes {
  int64_t rows = 4, columns = 4, stored = 4, work = 4;
  int64_t second_columns = 0;  ///< of the second product, which are stored; 0: there is none
};

FormBytes bytes_of(const KernelForm& form) {
  const auto of = [&](TensorId tensor) { return form.element_bytes.at(tensor); };
  FormBytes bytes;
  bytes.rows = of(operand_of(form, 0).tensor);
  bytes.columns = of(operand_of(form, 1).tensor);
  bytes.stored = of(form.result);
  bytes.work = std::max(bytes.rows, bytes.columns);
  if (form.second_product < 0) return bytes;
  bytes.work = std::max(bytes.work, of(weights_of_second(form).tensor));
  bytes.second_columns = 1;
  for (const KernelDigit& digit : form.digits) {
    if (digit.dim == kKernelL) bytes.second_columns *= digit.extent;
  }
  return bytes;
}

/// Cycles of a step of a tile, and of its store, roughly: loads against what they compute; and
/// until a core has what its first step takes.
struct TileCosts {
  double step = 0, stored = 0, first = 0;
};

/// Copies of the buffers of a step that a core has room for.
double copies_of(const StepBytes& loaded, const Machine& machine) {
  const auto room = static_cast<double>(machine.core.scratchpad_bytes);
  const double copies =
      room > 0 ? std::floor(room / (loaded.own + loaded.shared)) : kMostCopiesTried;
  return std::clamp<double>(copies, 1, kMostCopiesTried);
}

int64_t cores_at_work(int64_t tiles, int cores, const Machine& machine) {
  return std::min(std::max<int64_t>(machine.concurrent_clusters(cores), 1) * cores, tiles);
}

/// With `loaded` bytes a step, in clusters of `cores` that share loads, `at_work` cores in all.
TileCosts costs_of(const KernelSizes& b, const StepBytes& loaded, const FormBytes& bytes, int cores,
                   int64_t at_work, const Machine& machine) {
  const double work = machine.matrix_work(b[kKernelM], b[kKernelN], b[kKernelK], bytes.work);
  const int64_t columns = bytes.second_columns > 0 ? bytes.second_columns : b[kKernelN];
  const auto stored = static_cast<double>(b[kKernelM] * columns * bytes.stored);
  const double first = load_path(loaded, cores, machine);
  return {std::max({load_cycles(loaded, cores, at_work, machine),
                    work / machine.matrix_rate(bytes.work), first / copies_of(loaded, machine)}),
          load_cycles({stored, 0}, 1, at_work, machine), first};
}

/// What a step loads. Cores that share the columns have the same rows, others the same columns.
StepBytes step_bytes(const KernelSizes& b, const FormBytes& bytes, int column_cores) {
  const auto rows = static_cast<double>(b[kKernelM] * b[kKernelK] * bytes.rows);
  const auto columns = static_cast<double>(b[kKernelN] * b[kKernelK] * bytes.columns);
  return column_cores > 1 ? StepBytes{columns, rows} : StepBytes{rows, columns};
}

/// What a step loads that gathers rows one by one: whole bursts of each.
StepBytes gathered_bytes(const KernelSizes& b, int64_t packed, const FormBytes& bytes,
                         const Machine& machine) {
  const int64_t burst = machine.dram.burst_bytes;
  const auto bursts = [&](int64_t row) { return ceil_div(row, burst) * burst; };
  return {static_cast<double>(
              packed * (bursts(b[kKernelM] * bytes.rows) + bursts(b[kKernelN] * bytes.columns))),
          0};
}

/// Cycles of the slowest core, roughly.
double cost_of(const KernelSizes& size, const KernelSizes& b, const FormBytes& bytes, int cores,
               const Machine& machine) {
  const int64_t all = std::max<int64_t>(machine.concurrent_clusters(cores), 1) * cores;
  const auto a_core = static_cast<double>(ceil_div(tiles_of(size, b), all));
  const int64_t at_work = cores_at_work(tiles_of(size, b), cores, machine);
  const TileCosts costs = costs_of(b, step_bytes(b, bytes, 1), bytes, cores, at_work, machine);
  return costs.first +
         a_core * (static_cast<double>(steps_of(size, b)) * costs.step + costs.stored);
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

/// Steps of the largest part of each tile of rows, of which one packs `packed`.
StepsOfRows in_parts(StepsOfRows steps, int64_t parts, int64_t packed = 1) {
  for (int64_t& taken : steps) taken = ceil_div(ceil_div(taken, parts), packed);
  return steps;
}

/// Tiles of the result of which each tile of rows has its own steps, once for each cluster that
/// adds to them: `visit(number, steps)`.
template <typename Visit>
void for_each_tile(const KernelSizes& size, const KernelSizes& b, const StepsOfRows& steps,
                   int64_t adding, const Visit& visit) {
  const int64_t columns = ceil_div(size[kKernelN], b[kKernelN]), tiles = tiles_of(size, b);
  for (int64_t number = 0; number < tiles * adding; ++number) {
    visit(number, steps[static_cast<size_t>(number % tiles / columns) % steps.size()]);
  }
}

/// ... where rows have steps of their own. `at_work`: cores, or clusters, that take a tile each.
double cost_of(const KernelSizes& size, const KernelSizes& b, const TileCosts& costs,
               int64_t at_work, const StepsOfRows& steps, int64_t adding = 1) {
  std::vector<double> of_core(static_cast<size_t>(at_work), 0);
  for_each_tile(size, b, steps, adding, [&](int64_t number, int64_t taken) {
    of_core[static_cast<size_t>(number) % of_core.size()] +=
        static_cast<double>(taken) * costs.step + costs.stored;
  });
  return costs.first + *std::max_element(of_core.begin(), of_core.end());
}

double all_steps(const KernelSizes& size, const KernelSizes& b, const StepsOfRows& steps) {
  double all = 0;
  for_each_tile(size, b, steps, 1,
                [&](int64_t, int64_t taken) { all += static_cast<double>(taken); });
  return all;
}

void sort(std::vector<Candidate>& candidates) {
  std::sort(candidates.begin(), candidates.end());
}

std::vector<Candidate> product_tiles(const KernelForm& form, int cores, const Machine& machine) {
  const KernelSizes size = sizes_of(form);
  const FormBytes bytes = bytes_of(form);
  std::vector<Candidate> all;
  for (const int64_t m : power_blocks(size[kKernelM], 256)) {
    if (ceil_div(size[kKernelM], m) < cores) continue;
    for (const int64_t n : power_blocks(size[kKernelN], 256)) {
      for (const int64_t k : power_blocks(size[kKernelK], 256)) {
        Candidate candidate{{m, n, k, 1}, 0, 0, all.size(), 0, {cores}};
        candidate.cost = cost_of(size, candidate.block, bytes, cores, machine);
        candidate.steps = static_cast<double>(tiles_of(size, candidate.block)) *
                          static_cast<double>(steps_of(size, candidate.block));
        all.push_back(candidate);
      }
    }
  }
  sort(all);
  return all;
}

/// Cycles until the cores of a cluster have summed what a product gives on each of them.
double sum_cycles(int64_t rows, int64_t columns, int cores, const Machine& machine) {
  const int64_t sent = rows / cores * (cores - 1) * columns * kAccumulatorBytes;
  return exchange_cycles(static_cast<double>(sent), cores, machine);
}

/// Cycles of the slowest core, roughly, where each has a part of k of a tile.
double split_cost_of(const KernelSizes& size, const KernelSizes& b, const FormBytes& bytes,
                     const DepthParts& parts, const Machine& machine) {
  const int64_t clusters = machine.concurrent_clusters(parts.cores);
  const int64_t work = tiles_of(size, b) * parts.clusters;  // of a cluster each
  const StepBytes tile = step_bytes(b, bytes, 1);
  const int64_t steps = ceil_div(steps_of(size, b), parts.all());
  // A part of one step is the same tile of the rows' operand for all columns: it stays.
  const double rows = steps > 1 ? tile.own : 0;
  const int64_t at_work = std::min(clusters, work) * parts.cores;
  const TileCosts costs = costs_of(b, {rows + tile.shared, 0}, bytes, 1, at_work, machine);
  const double sum =
      parts.cores > 1 ? sum_cycles(b[kKernelM], b[kKernelN], parts.cores, machine) : 0;
  const double tiles = static_cast<double>(ceil_div(work, clusters));
  return load_path({tile.own + tile.shared, 0}, 1, machine) +
         tiles * (static_cast<double>(steps) * costs.step + costs.stored / parts.cores + sum);
}

/// Can tiles of so many rows and k be shared so?
bool fits(const KernelSizes& size, int64_t m, int64_t k, const Sharing& by) {
  return ceil_div(size[kKernelM], m) >= by.cores && m % (by.column_cores * by.parts.cores) == 0 &&
         ceil_div(size[kKernelK], k) >= by.parts.all();
}

/// Tiles of a product with k in parts.
std::vector<Candidate> split_tiles(const KernelForm& form, const std::vector<Sharing>& ways,
                                   const Machine& machine) {
  const KernelSizes size = sizes_of(form);
  std::vector<Candidate> all;
  for (const Sharing& by : ways) {
    FormBytes bytes = bytes_of(form);
    if (by.parts.clusters > 1) bytes.stored = added_bytes(bytes.stored);
    for (const int64_t m : power_blocks(size[kKernelM], 256)) {
      for (const int64_t n : power_blocks(size[kKernelN], 256)) {
        for (const int64_t k : power_blocks(size[kKernelK], 256)) {
          if (!fits(size, m, k, by)) continue;
          Candidate candidate{{m, n, k, 1}, 0, 0, all.size(), 0, by};
          candidate.cost = split_cost_of(size, candidate.block, bytes, by.parts, machine);
          all.push_back(candidate);
        }
      }
    }
  }
  sort(all);
  return all;
}

/// Columns of tiles: where a second product takes them all, or a part for each core
/// of a cluster; none where they cannot be cut so.
std::vector<int64_t> column_blocks(const KernelForm& form, int column_cores) {
  const int64_t columns = sizes_of(form)[kKernelN];
  if (form.second_product < 0) return power_blocks(columns, 256);
  const int64_t part = ceil_div(columns, int64_t{column_cores});
  if (ceil_div(columns, part) != column_cores) return {};
  return {part};
}

/// Cycles of the second product, of a tile, and of its sum over a cluster.
double second_product_cycles(const FormBytes& bytes, const KernelSizes& b, int column_cores,
                             const Machine& machine) {
  const int64_t rows = b[kKernelM], columns = bytes.second_columns;
  if (columns == 0) return 0;
  const double product =
      machine.matrix_work(rows, columns, b[kKernelN], bytes.work) / machine.matrix_rate(bytes.work);
  return column_cores == 1 ? product : product + sum_cycles(rows, columns, column_cores, machine);
}

/// Sets the cost of a candidate whose tiles of rows have these steps in each part, and a step
/// `loaded`; false where it has too many tiles.
bool set_cost(Candidate& candidate, const KernelSizes& size, FormBytes bytes, StepBytes loaded,
              const StepsOfRows& steps, const Machine& machine) {
  const KernelSizes& b = candidate.block;
  const DepthParts& parts = candidate.by.parts;
  const int64_t tiles = tiles_of(size, b) * parts.clusters;
  if (tiles > kMostSteps) return false;
  const int together = std::max(candidate.by.cores, candidate.by.column_cores);
  int64_t at_work = cores_at_work(tiles, together, machine);
  if (parts.all() > 1) {  // a cluster takes a tile, and its cores share no loads
    at_work = std::min(machine.concurrent_clusters(parts.cores), tiles);
    loaded = {loaded.own + loaded.shared, 0};
  }
  if (parts.clusters > 1) bytes.stored = added_bytes(bytes.stored);
  KernelSizes step = b;
  if (candidate.gathered > 0) step[kKernelK] = candidate.gathered;
  TileCosts costs = costs_of(step, loaded, bytes, together, at_work * parts.cores, machine);
  // A column and a row take a cycle of the port each at least.
  costs.step = std::max(costs.step, 2.0 * static_cast<double>(candidate.gathered));
  costs.stored = costs.stored / parts.cores +
                 second_product_cycles(bytes, b, candidate.by.column_cores, machine);
  if (parts.cores > 1) costs.stored += sum_cycles(b[kKernelM], b[kKernelN], parts.cores, machine);
  candidate.cost = cost_of(size, b, costs, at_work, steps, parts.clusters);
  candidate.steps = all_steps(size, b, steps) * static_cast<double>(parts.all());
  return true;
}

/// The same with the steps that are there: their number depends on rows and k of a tile.
std::vector<Candidate> sparse_tiles(const KernelForm& form, const std::vector<Sharing>& ways,
                                    const Machine& machine) {
  const KernelSizes size = sizes_of(form);
  const FormBytes bytes = bytes_of(form);
  std::vector<Candidate> all;
  for (const int64_t m : power_blocks(size[kKernelM], 256)) {
    for (const int64_t k : power_blocks(size[kKernelK], 256)) {
      const StepsOfRows rows = present_steps(*form.present, m, k);
      for (const Sharing& by : ways) {
        if (!fits(size, m, k, by)) continue;
        const StepsOfRows steps = in_parts(rows, by.parts.all());
        for (const int64_t n : column_blocks(form, by.column_cores)) {
          Candidate candidate{{m, n, k, 1}, 0, 0, all.size(), 0, by};
          const StepBytes loaded = step_bytes(candidate.block, bytes, by.column_cores);
          if (set_cost(candidate, size, bytes, loaded, steps, machine)) all.push_back(candidate);
        }
      }
    }
  }
  sort(all);
  return all;
}

/// The same with rows gathered: blocks of one k, of which a step packs up to 256.
std::vector<Candidate> gathered_tiles(const KernelForm& form, const std::vector<Sharing>& ways,
                                      const Machine& machine) {
  const KernelSizes size = sizes_of(form);
  const FormBytes bytes = bytes_of(form);
  std::vector<Candidate> all;
  for (const int64_t m : power_blocks(size[kKernelM], 256)) {
    const StepsOfRows rows = present_steps(*form.present, m, 1);
    for (const Sharing& by : ways) {
      if (!fits(size, m, 1, by)) continue;
      for (const int64_t packed : power_blocks(size[kKernelK], kMostGathered)) {
        const StepsOfRows steps = in_parts(rows, by.parts.all(), packed);
        for (const int64_t n : column_blocks(form, by.column_cores)) {
          Candidate candidate{{m, n, 1, 1}, 0, 0, all.size(), packed, by};
          const StepBytes loaded = gathered_bytes(candidate.block, packed, bytes, machine);
          if (set_cost(candidate, size, bytes, loaded, steps, machine)) all.push_back(candidate);
        }
      }
    }
  }
  sort(all);
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
std::optional<Graph> fitting(const KernelForm& form, const Candidate& candidate,
                             const Machine& machine) {
  for (int64_t copies = kMostCopiesTried; copies > 0; --copies) {
    Graph graph =
        kernel_graph(form, candidate.block, copies, candidate.gathered, candidate.by.parts);
    graph.indices[kKernelM].cluster = candidate.by.cores;
    const bool leaves_out = candidate.gathered > 0 || form.second_product >= 0;
    if (leaves_out && graph.tiles->open.empty()) return std::nullopt;  // takes all rows
    const bool shares = candidate.by.column_cores > 1 || candidate.by.parts.cores > 1;
    if (shares && !shares_rows(graph)) return std::nullopt;
    if (fits_core(kernel_need(graph), machine)) return graph;
  }
  return std::nullopt;
}

/// The fastest of them, where it is faster than `best`; only `most` are simulated.
std::optional<FastestKernel> fastest_of(const std::vector<Candidate>& candidates, size_t most,
                                        const KernelForm& form, const Machine& machine,
                                        std::optional<FastestKernel> best = std::nullopt) {
  size_t simulated = 0;
  for (const Candidate& candidate : candidates) {
    if (candidate.steps > static_cast<double>(kMostSteps)) continue;
    std::optional<Graph> graph = fitting(form, candidate, machine);
    if (!graph) continue;
    const int64_t most_cycles = best ? best->measured.cycles : 0;
    const Measured measured = measured_or_unfinished(*graph, machine, most_cycles);
    if (measured.finished && (!best || measured.cycles < best->measured.cycles)) {
      best = FastestKernel{std::move(*graph), measured};
    }
    if (++simulated == most) break;
  }
  return best;
}

/// The fastest product of single cores, or of clusters where these are faster. `tiles` has the
/// candidates of clusters of so many cores.
template <typename Tiles>
std::optional<FastestKernel> fastest_product(const KernelForm& form, const Machine& machine,
                                             const Tiles& tiles) {
  std::optional<FastestKernel> best = fastest_of(tiles(1), kMostSimulated, form, machine);
  for (const int cores : kKernelClusters) {
    if (!best || machine.concurrent_clusters(cores) < 1) continue;
    best = fastest_of(tiles(cores), kMostOfClusters, form, machine, std::move(best));
  }
  return best;
}

/// Costs leave out much of what takes time: what costs more than another takes is not faster.
void leave_costly_out(double cycles, std::vector<Candidate>& sorted) {
  std::erase_if(sorted, [&](const Candidate& candidate) { return candidate.cost >= cycles; });
}

/// The fastest product with k in parts: of the cores of a cluster, and of clusters that add to the
/// result in memory; where that is faster than `best`. `tiles` has the candidates of a list of
/// parts.
template <typename Tiles>
std::optional<FastestKernel> fastest_split(const KernelForm& form, const Machine& machine,
                                           const Tiles& tiles, std::optional<FastestKernel> best) {
  const bool sums = sums_follow(form);
  std::vector<Sharing> over_links, in_memory;
  for (const int cores : {1, 2, 4, 8, 16}) {
    if (machine.concurrent_clusters(cores) < 1) continue;
    if (cores > 1) over_links.push_back({1, 1, {cores, 1}});
    for (int64_t clusters = 2; sums && clusters <= kMostAddingTried; clusters *= 2) {
      in_memory.push_back({1, 1, {cores, clusters}});
    }
  }
  for (const std::vector<Sharing>& ways : {over_links, in_memory}) {
    std::vector<Candidate> all = tiles(ways);
    if (best) leave_costly_out(static_cast<double>(best->measured.cycles), all);
    best = fastest_of(all, kMostOfParts, form, machine, std::move(best));
  }
  return best;
}

std::optional<FastestKernel> fastest_dense(const KernelForm& form, const Machine& machine) {
  if (!form.product) {
    std::optional<RowKernelPlan> plan = fastest_row_kernel(form, machine);
    if (!plan) return std::nullopt;
    return FastestKernel{std::move(plan->graph), plan->measured};
  }
  std::optional<FastestKernel> best = fastest_product(
      form, machine, [&](int cores) { return product_tiles(form, cores, machine); });
  const auto split = [&](const std::vector<Sharing>& ways) {
    return split_tiles(form, ways, machine);
  };
  return fastest_split(form, machine, split, std::move(best));
}

/// Of those that there are; 0: none.
int64_t least_cycles(const std::optional<FastestKernel>& a, const std::optional<FastestKernel>& b) {
  if (!a || !b) return a ? a->measured.cycles : b ? b->measured.cycles : 0;
  return std::min(a->measured.cycles, b->measured.cycles);
}

/// With all of k on a core.
std::optional<FastestKernel> fastest_whole_by_tiles(const KernelForm& sparse,
                                                    const Machine& machine) {
  return fastest_product(sparse, machine,
                         [&](int cores) { return sparse_tiles(sparse, {{cores}}, machine); });
}

std::optional<FastestKernel> fastest_whole_gathered(const KernelForm& sparse,
                                                    const Machine& machine,
                                                    std::optional<FastestKernel> best = {}) {
  return fastest_of(gathered_tiles(sparse, {{}}, machine), kMostSimulated, sparse, machine,
                    std::move(best));
}

std::optional<FastestKernel> fastest_by_tiles(const KernelForm& sparse, const Machine& machine) {
  const auto split = [&](const std::vector<Sharing>& ways) {
    return sparse_tiles(sparse, ways, machine);
  };
  return fastest_split(sparse, machine, split, fastest_whole_by_tiles(sparse, machine));
}

std::optional<FastestKernel> fastest_gathered(const KernelForm& sparse, const Machine& machine) {
  const auto split = [&](const std::vector<Sharing>& ways) {
    return gathered_tiles(sparse, ways, machine);
  };
  return fastest_split(sparse, machine, split, fastest_whole_gathered(sparse, machine));
}

/// Tiles of a form with a second product, of clusters that share the columns.
std::vector<Candidate> column_tiles(const KernelForm& form, int cores, const Machine& machine) {
  const std::vector<Sharing> by{{1, cores}};
  std::vector<Candidate> all = sparse_tiles(form, by, machine);
  if (!form.gathered) return all;
  const size_t before = all.size();
  for (Candidate& candidate : gathered_tiles(form, by, machine)) {
    candidate.number += before;
    all.push_back(candidate);
  }
  sort(all);
  return all;
}

}  // namespace

std::optional<FastestKernel> fastest_kernel(const KernelForm& form, const Machine& machine,
                                            const KernelForm* sparse) {
  std::optional<FastestKernel> whole = fastest_dense(form, machine);
  if (sparse == nullptr) return whole;
  std::optional<FastestKernel> part = fastest_by_tiles(*sparse, machine);
  if (sparse->gathered) {
    std::optional<FastestKernel> rows = fastest_gathered(*sparse, machine);
    if (rows && (!part || rows->measured.cycles < part->measured.cycles)) {
      rows->ungathered_cycles = least_cycles(part, whole);
      part = std::move(rows);
    }
  }
  if (!part || (whole && whole->measured.cycles <= part->measured.cycles)) return whole;
  part->dense_cycles = whole ? whole->measured.cycles : 0;
  return part;
}

std::optional<FastestKernel> fastest_two_products(const KernelForm& form, const Machine& machine) {
  std::optional<FastestKernel> best = fastest_whole_by_tiles(form, machine);
  if (form.gathered) best = fastest_whole_gathered(form, machine, std::move(best));
  for (const int cores : kSummingClusters) {
    if (machine.concurrent_clusters(cores) < 1) continue;
    best = fastest_of(column_tiles(form, cores, machine), kMostOfClusters, form, machine,
                      std::move(best));
  }
  return best;
}

}  // namespace fuseflow::cluster
