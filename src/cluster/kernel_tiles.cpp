#include "cluster/kernel_tiles.h"

#include <algorithm>
#include <tuple>

#include "cluster/candidates.h"
#include "sim/tiles/timing.h"
#include "support/ceil_div.h"

namespace fuseflow::cluster {
namespace {

constexpr int64_t kMostCopiesTried = 4;
constexpr size_t kMostSimulated = 12;
constexpr int64_t kMostSteps = int64_t{1} << 18;  ///< products or rows of tiles, of all cores

struct Candidate {
  KernelSizes block{1, 1, 1, 1};
  double cost = 0;
  size_t number = 0;
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

/// Cycles of the slowest core, roughly: what its tiles load and store against what they compute.
double cost_of(const KernelSizes& size, const KernelSizes& b, int64_t element,
               const Machine& machine) {
  const auto cores = static_cast<double>(std::max<int64_t>(machine.concurrent_clusters(1), 1));
  const auto tiles = static_cast<double>(tiles_of(size, b));
  const auto a_core = static_cast<double>(ceil_div(tiles_of(size, b), static_cast<int64_t>(cores)));
  const double loaded = static_cast<double>((b[kKernelM] + b[kKernelN]) * b[kKernelK] * element);
  const double flops = 2.0 * static_cast<double>(b[kKernelM] * b[kKernelN] * b[kKernelK]);
  const double at_work = std::min(cores, tiles);
  double rate = machine.core.port_bytes_per_cycle;
  if (machine.has_l2()) rate = std::min(rate, machine.l2.bytes_per_cycle / at_work);
  const double step = std::max(loaded / rate, flops / machine.matrix_rate(element));
  const double stored = static_cast<double>(b[kKernelM] * b[kKernelN] * element) / rate;
  return a_core * (static_cast<double>(steps_of(size, b)) * step + stored);
}

std::vector<Candidate> product_tiles(const KernelForm& form, const Machine& machine) {
  const KernelSizes size = sizes_of(form);
  std::vector<Candidate> all;
  for (const int64_t m : power_blocks(size[kKernelM], 256)) {
    for (const int64_t n : power_blocks(size[kKernelN], 256)) {
      for (const int64_t k : power_blocks(size[kKernelK], 256)) {
        Candidate candidate{{m, n, k, 1}, 0, all.size()};
        candidate.cost = cost_of(size, candidate.block, form.element_bytes, machine);
        all.push_back(candidate);
      }
    }
  }
  std::sort(all.begin(), all.end());
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
      const bool known = std::any_of(all.begin(), all.end(), [&](const Candidate& other) {
        return other.block == candidate.block;
      });
      if (!known) all.push_back(candidate);
    }
  }
  return all;
}

/// With as many copies of the loads as fit.
std::optional<Graph> fitting(const KernelForm& form, const KernelSizes& block,
                             const Machine& machine) {
  for (int64_t copies = kMostCopiesTried; copies > 0; --copies) {
    Graph graph = kernel_graph(form, block, copies);
    if (fits_core(graph, machine)) return graph;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Graph> fastest_kernel(const KernelForm& form, const Machine& machine) {
  const KernelSizes size = sizes_of(form);
  std::optional<Graph> best;
  int64_t least = 0;
  size_t simulated = 0;
  for (const Candidate& candidate : form.product ? product_tiles(form, machine) : row_tiles(form)) {
    const double steps = static_cast<double>(tiles_of(size, candidate.block)) *
                         static_cast<double>(steps_of(size, candidate.block));
    if (steps > static_cast<double>(kMostSteps)) continue;
    std::optional<Graph> graph = fitting(form, candidate.block, machine);
    if (!graph) continue;
    LaunchOptions options;
    options.most_cycles = least;
    const Measured measured = time_tiles(*graph, machine, options);
    if (measured.finished && (!best || measured.cycles < least)) {
      least = measured.cycles;
      best = std::move(graph);
    }
    if (++simulated == kMostSimulated && form.product) break;
  }
  return best;
}

}  // namespace fuseflow::cluster
