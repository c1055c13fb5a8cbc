// The tiles of a kernel: candidates, ranked by cost where there are many, simulated, the fastest.
#pragma once

#include <cstdint>
#include <optional>

#include "cluster/kernels/form.h"
#include "machine/machine.h"
#include "sim/tiles/timing.h"

namespace fuseflow::cluster {

struct FastestKernel {
  Graph graph;
  Measured measured;
  /// The fastest kernel that takes all tiles, where one of the product's operands leaves some out;
  /// 0 where none fits.
  int64_t dense_cycles = 0;
  /// The fastest kernel that does not gather, of a gathered product; 0 where none fits.
  int64_t ungathered_cycles = 0;
};

/// The fastest graph of the candidates; nothing where none fits the machine. `sparse`: the form of
/// the same product that leaves tiles out (PresenceFinder), taken where that is faster.
std::optional<FastestKernel> fastest_kernel(const KernelForm& form, const Machine& machine,
                                            const KernelForm* sparse = nullptr);

/// The fastest graph of a product that leaves tiles out and has another after it
/// (second_product_form.h); nothing where none fits.
std::optional<FastestKernel> fastest_two_products(const KernelForm& form, const Machine& machine);

}  // namespace fuseflow::cluster
