#include "machine/machine.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/ceil_div.h"
#include "support/defect.h"
#include "support/error.h"

namespace fuseflow {

FUSEFLOW_DEFINE_VALUE_TYPE(Machine);

std::string_view unit_class_name(UnitClass unit) {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"root", "scan", "locate", "repeat", "join", "array", "alu", "reduce", "accumulate", "filter",
       "buffer", "write", "split"});
  static_assert(kNames.size() == kUnitClasses);
  return kNames[static_cast<size_t>(unit)];
}

std::string_view arithmetic_name(Arithmetic arithmetic, Width width) {
  static constexpr std::array<std::array<std::string_view, kWidths>, kArithmetics> kNames = {
      {{"add_32", "add_16", "add_8"},
       {"compare_32", "compare_16", "compare_8"},
       {"mul_32", "mul_16", "mul_8"},
       {"div_32", "div_16", "div_8"},
       {"sqrt_32", "sqrt_16", "sqrt_8"},
       {"special_32", "special_16", "special_8"}}};
  return kNames[static_cast<size_t>(arithmetic)][static_cast<size_t>(width)];
}

std::string_view operator_class_name(OperatorClass which) {
  static constexpr auto kNames = std::to_array<std::string_view>({"divide", "root", "exponential"});
  static_assert(kNames.size() == kOperatorClasses);
  return kNames[static_cast<size_t>(which)];
}

namespace {

size_t cluster_size_index(int cores) {
  for (size_t i = 0; i < kClusterSizes.size(); ++i) {
    if (kClusterSizes[i] == cores) return i;
  }
  throw Defect(fmt::format("no links for a cluster of {} cores", cores));
}

}  // namespace

double Machine::dram_bytes_per_cycle() const {
  if (dram.model == "none") return 0;
  if (dram.bandwidth_gigabytes_per_second > 0) {
    return dram.bandwidth_gigabytes_per_second / clock_gigahertz;
  }
  const double bytes = static_cast<double>(dram.burst_bytes) * static_cast<double>(dram.channels);
  if (dram.model == "fixed" || dram.model == "comal")
    return bytes / static_cast<double>(dram.interval_cycles);
  return bytes / (static_cast<double>(dram.timing.burst_ps) * clock_gigahertz / 1000);
}

double Machine::link_bytes_per_cycle(int cores) const {
  const double all = links.bandwidth_gigabytes_per_second[cluster_size_index(cores)];
  return core.count == 0 ? 0 : all / clock_gigahertz / static_cast<double>(core.count);
}

int64_t Machine::link_latency(int cores) const {
  return links.latency_cycles[cluster_size_index(cores)];
}

int64_t Machine::link_barrier(int cores) const {
  return links.barrier_cycles[cluster_size_index(cores)];
}

namespace {

double padded(int64_t extent, int64_t to) {
  return static_cast<double>(ceil_div(extent, to) * to);
}

}  // namespace

double Machine::matrix_rate(int64_t element_bytes) const {
  for (size_t i = 0; i < kOtherElementBytes.size(); ++i) {
    const double stated = core.matrix_flops_per_cycle_of_bytes[i];
    if (kOtherElementBytes[i] == element_bytes && stated > 0) return stated;
  }
  return core.matrix_flops_per_cycle * 2 / static_cast<double>(element_bytes);
}

double Machine::matrix_work(int64_t m, int64_t n, int64_t k, int64_t element_bytes) const {
  double least = 0;
  for (const MatrixShape& shape : core.matrix_shapes) {
    if (shape.rows == 0) continue;
    const int64_t depth = std::max<int64_t>(shape.depth * 2 / element_bytes, 1);
    const double tiles = std::min(padded(m, shape.rows) * padded(n, shape.columns),
                                  padded(n, shape.rows) * padded(m, shape.columns));
    const double work = 2 * tiles * padded(k, depth) / shape.rate_share;
    if (least == 0 || work < least) least = work;
  }
  return least > 0 ? least
                   : 2 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

double L2Model::store_rate(bool adds) const {
  if (adds && add_bytes_per_cycle > 0) return add_bytes_per_cycle;
  return store_bytes_per_cycle > 0 ? store_bytes_per_cycle : bytes_per_cycle;
}

int64_t Machine::concurrent_clusters(int cores) const {
  const int64_t most = links.most_cores[cluster_size_index(cores)];
  return (most > 0 ? std::min(most, core.count) : core.count) / cores;
}

}  // namespace fuseflow
