#include "cluster/kernels/product_cost.h"

#include <algorithm>
#include <cmath>

#include "cluster/common/candidates.h"
#include "nodes/kernel_check.h"
#include "support/ceil_div.h"

namespace fuseflow::cluster {
namespace {

/// Steps of the largest part of a tile of rows with so many.
int64_t steps_of_part(int64_t steps, const ProductTiles& tiles) {
  return ceil_div(ceil_div(steps, tiles.by.parts.all()), std::max<int64_t>(tiles.gathered, 1));
}

/// Cycles until the cores of a cluster have summed what a product gives on each of them.
double sum_cycles(int64_t rows, int64_t columns, int cores, const Machine& machine) {
  if (cores == 1) return 0;
  const int64_t sent = rows / cores * (cores - 1) * columns * kAccumulatorBytes;
  return exchange_cycles(static_cast<double>(sent), cores, machine);
}

/// Cores that share loads: those of a cluster, where no core has a part of k.
int sharing_cores(const ProductSharing& by) {
  return std::max(by.cores, by.column_cores);
}

/// Who takes a tile each: cores, or clusters where their cores have parts of k.
int64_t takers_of(const ProductSharing& by, int64_t work, const Machine& machine) {
  if (by.parts.all() > 1) return std::min(machine.concurrent_clusters(by.parts.cores), work);
  const int cores = sharing_cores(by);
  return std::min(std::max<int64_t>(machine.concurrent_clusters(cores), 1) * cores, work);
}

}  // namespace

ProductCost::ProductCost(const KernelForm& form, const Machine& machine)
    : machine_(machine), size_(sizes_of(form)) {
  const auto bytes_of = [&](TensorId tensor) { return form.tensors.at(tensor).element_bytes; };
  row_bytes_ = bytes_of(operand_of(form, 0).tensor);
  column_bytes_ = bytes_of(operand_of(form, 1).tensor);
  result_bytes_ = bytes_of(form.result);
  work_bytes_ = std::max(row_bytes_, column_bytes_);
  if (form.second_product < 0) return;
  work_bytes_ = std::max(work_bytes_, bytes_of(weights_of_second(form).tensor));
  second_columns_ = 1;
  for (const KernelDigit& digit : form.digits) {
    if (digit.dim == kKernelL) second_columns_ *= digit.extent;
  }
}

double ProductCost::cycles(const ProductTiles& tiles, const StepsOfRows& steps) const {
  const int64_t all = work(tiles);
  const int64_t takers = takers_of(tiles.by, all, machine_);
  const int64_t most = *std::max_element(steps.begin(), steps.end());
  const Costs costs = costs_of(tiles, steps_of_part(most, tiles), takers);
  const auto tile = [&](int64_t taken) {
    return static_cast<double>(steps_of_part(taken, tiles)) * costs.step + costs.stored;
  };
  if (steps.size() == 1) {
    return costs.first + static_cast<double>(ceil_div(all, takers)) * tile(steps[0]);
  }
  const int64_t columns = columns_of_tiles(tiles), once = all / tiles.by.parts.clusters;
  std::vector<double> of_taker(static_cast<size_t>(takers), 0);
  for (int64_t number = 0; number < all; ++number) {
    const auto row = static_cast<size_t>(number % once / columns);
    of_taker[static_cast<size_t>(number % takers)] += tile(steps[row % steps.size()]);
  }
  return costs.first + *std::max_element(of_taker.begin(), of_taker.end());
}

double ProductCost::steps(const ProductTiles& tiles, const StepsOfRows& steps) const {
  int64_t all = 0;
  for (const int64_t taken : steps) all += steps_of_part(taken, tiles);
  const int64_t times = work(tiles) / static_cast<int64_t>(steps.size());
  return static_cast<double>(all) * static_cast<double>(times) * tiles.by.parts.cores;
}

int64_t ProductCost::work(const ProductTiles& tiles) const {
  const int64_t rows = ceil_div(size_[kKernelM], tiles.block[kKernelM]);
  return rows * columns_of_tiles(tiles) * size_[kKernelG] * tiles.by.parts.clusters;
}

int64_t ProductCost::columns_of_tiles(const ProductTiles& tiles) const {
  return ceil_div(size_[kKernelN], tiles.block[kKernelN]);
}

/// `most_steps`: of a tile.
ProductCost::Costs ProductCost::costs_of(const ProductTiles& tiles, int64_t most_steps,
                                         int64_t takers) const {
  const KernelSizes& b = tiles.block;
  const DepthParts& parts = tiles.by.parts;
  const int cores = sharing_cores(tiles.by);
  const int64_t at_work = takers * parts.cores;
  StepBytes loaded = step_bytes(tiles);
  if (parts.all() > 1) loaded = {loaded.own + loaded.shared, 0};
  Costs costs;
  costs.first = load_path(loaded, cores, machine_);
  // A part of one step is the same tile of the rows' operand for all columns: it stays.
  const bool rows_stay = parts.all() > 1 && most_steps <= 1 && tiles.gathered == 0;
  if (rows_stay) loaded.own -= static_cast<double>(b[kKernelM] * b[kKernelK] * row_bytes_);
  const int64_t k = tiles.gathered > 0 ? tiles.gathered : b[kKernelK];
  costs.step = std::max({load_cycles(loaded, cores, at_work, machine_),
                         matrix_cycles(b[kKernelM], b[kKernelN], k),
                         load_path(loaded, cores, machine_) / copies_of(loaded)});
  // A column and a row that are gathered take a cycle of the port each at least.
  costs.step = std::max(costs.step, 2.0 * static_cast<double>(tiles.gathered));
  const int64_t columns = second_columns_ > 0 ? second_columns_ : b[kKernelN];
  const int64_t element = parts.clusters > 1 ? added_bytes(result_bytes_) : result_bytes_;
  const auto stored = static_cast<double>(b[kKernelM] * columns * element);
  costs.stored = store_cycles(stored, parts.clusters > 1, at_work, machine_) / parts.cores +
                 after_product(tiles);
  if (parts.clusters == 1) return costs;
  costs.stored += count_cycles(machine_);
  const int64_t share = b[kKernelM] * columns / parts.cores;
  costs.first += settle_cycles({share * element, share * result_bytes_}, machine_);
  return costs;
}

/// What a step loads. Cores that share the columns have the same rows, others the same columns; of
/// rows that are gathered one by one, whole bursts.
StepBytes ProductCost::step_bytes(const ProductTiles& tiles) const {
  const KernelSizes& b = tiles.block;
  if (tiles.gathered > 0) {
    const int64_t burst = machine_.dram.burst_bytes;
    const auto bursts = [&](int64_t bytes) { return ceil_div(bytes, burst) * burst; };
    const int64_t row = bursts(b[kKernelM] * row_bytes_) + bursts(b[kKernelN] * column_bytes_);
    return {static_cast<double>(tiles.gathered * row), 0};
  }
  const auto rows = static_cast<double>(b[kKernelM] * b[kKernelK] * row_bytes_);
  const auto columns = static_cast<double>(b[kKernelN] * b[kKernelK] * column_bytes_);
  return tiles.by.column_cores > 1 ? StepBytes{columns, rows} : StepBytes{rows, columns};
}

/// Copies of the buffers of a step that a core has room for.
double ProductCost::copies_of(const StepBytes& loaded) const {
  const auto room = static_cast<double>(machine_.core.scratchpad_bytes);
  const double copies =
      room > 0 ? std::floor(room / (loaded.own + loaded.shared)) : kMostCopiesTried;
  return std::clamp<double>(copies, 1, kMostCopiesTried);
}

/// Cycles of a tile after its product: the sums over links, and a second product.
double ProductCost::after_product(const ProductTiles& tiles) const {
  const KernelSizes& b = tiles.block;
  const double sum = sum_cycles(b[kKernelM], b[kKernelN], tiles.by.parts.cores, machine_);
  if (second_columns_ == 0) return sum;
  return sum + matrix_cycles(b[kKernelM], second_columns_, b[kKernelN]) +
         sum_cycles(b[kKernelM], second_columns_, tiles.by.column_cores, machine_);
}

double ProductCost::matrix_cycles(int64_t m, int64_t n, int64_t k) const {
  return machine_.matrix_work(m, n, k, work_bytes_) / machine_.matrix_rate(work_bytes_);
}

}  // namespace fuseflow::cluster
