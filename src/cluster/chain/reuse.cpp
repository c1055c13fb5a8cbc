#include "cluster/chain/reuse.h"

#include <algorithm>

#include "support/ceil_div.h"

namespace fuseflow::cluster {
namespace {

/// Clusters of one wave along each dimension that is spread over clusters: L innermost, as they are
/// started.
Extents wave_of(const ChainSteps& steps, int64_t at_a_time) {
  Extents wave;
  int64_t left = std::min(at_a_time, steps.clusters);
  for (const Dim dim : {Dim::l, Dim::k, Dim::n, Dim::m}) {
    const int64_t spread = steps.steps[dim] / steps.temporal[dim];
    wave[dim] = std::min(spread, left);
    left = ceil_div(left, spread);
  }
  return wave;
}

}  // namespace

SharedMemory shared_memory(const SharedBytes& bytes, double cores_at_work, const Machine& machine) {
  const double missed = bytes.asked > 0 ? bytes.moved / bytes.asked : 1;
  const double given = bytes.asked > 0 ? bytes.given / bytes.asked : 1;
  const double dram = machine.global_bytes_per_cycle() / cores_at_work;
  SharedMemory memory;
  memory.rate = std::min(machine.core.port_bytes_per_cycle, dram / missed);
  memory.latency = static_cast<double>(machine.global.latency_cycles);
  if (!machine.has_l2()) return memory;
  const double cache = machine.l2.bytes_per_cycle / cores_at_work / given;
  if (cache > 0) memory.rate = std::min(memory.rate, cache);
  memory.latency =
      missed * memory.latency + (1 - missed) * static_cast<double>(machine.l2.latency_cycles);
  return memory;
}

double read_once_together(double loaded, double distinct, double together) {
  return std::max(distinct, loaded / together);
}

double memory_bytes(const Chain& chain, const Plan& plan, const Analysis& analysis,
                    const Machine& machine) {
  const LevelBytes& total = analysis.total;
  if (!machine.has_l2())
    return static_cast<double>(total.global() - analysis.shared + analysis.added);
  const auto least = static_cast<double>(least_bytes(chain, true));
  // Sums that clusters add to are in memory before and after.
  const auto sums = static_cast<double>(2 * analysis.settled.global_read);
  if (least <= static_cast<double>(machine.l2.capacity_bytes)) return least + sums;
  const Extents wave = wave_of(
      analysis.steps, std::max<int64_t>(machine.concurrent_clusters(plan.shape.cores()), 1));
  const int64_t cores = analysis.steps.clusters * plan.shape.cores();
  const auto tensor = [&](int64_t loads, Dim rows, Dim cols, int64_t element, int64_t copies,
                          int64_t together) {
    const int64_t tile = plan.tile[rows] * plan.tile[cols] * element;
    const int64_t distinct = chain.size[rows] * chain.size[cols] * element * copies;
    return read_once_together(static_cast<double>(cores * loads * tile),
                              static_cast<double>(distinct), static_cast<double>(together));
  };
  const Visits& v = analysis.visits;
  const ElementBytes& each = chain.bytes;
  const ClusterShape& shape = plan.shape;
  // Cores that differ only along dimensions which a tensor does not have load the same tiles.
  const double a =
      tensor(v.a_loads, Dim::m, Dim::k, each.a, 1, shape.n * wave[Dim::n] * wave[Dim::l]);
  const double b = tensor(v.b_loads, Dim::k, Dim::n, each.b, chain.gated() ? 2 : 1,
                          shape.m * wave[Dim::m] * wave[Dim::l]);
  const double d =
      tensor(v.d_loads, Dim::n, Dim::l, each.d, 1, shape.m * wave[Dim::m] * wave[Dim::k]);
  const auto stored = static_cast<double>(chain.size[Dim::m] * chain.size[Dim::l] * each.e);
  return std::min(static_cast<double>(total.global()), a + b + d + stored + sums);
}

}  // namespace fuseflow::cluster
