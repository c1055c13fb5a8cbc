#include "cluster/chain/on_chip.h"

#include "chip/needs.h"

namespace fuseflow::cluster {
namespace {

/// Whether E is summed over steps of N, while C is made.
bool sums_over_steps(const Plan& plan, const ChainSteps& steps) {
  for (int depth = plan.schedule.loops() - 1; depth >= 0; --depth) {
    const Dim dim = plan.schedule.loop(depth);
    if (dim != Dim::k && steps.temporal[dim] > 1) return dim == Dim::n;
  }
  return false;
}

chip::ChainNumbers numbers_of(const Chain& chain, const Plan& plan, const ChainSteps& steps,
                              int64_t c_tiles) {
  chip::ChainNumbers numbers;
  numbers.tile = plan.tile;
  numbers.shape = plan.shape;
  numbers.gated = chain.gated();
  numbers.one_after_other = plan.way == GatedWay::sequential;
  numbers.a_bytes = chain.bytes.a;
  numbers.b_bytes = chain.bytes.b;
  numbers.c_bytes = chain.bytes.work();
  numbers.d_bytes = chain.bytes.d;
  numbers.c_tiles = c_tiles;
  numbers.sums_over_n = sums_over_steps(plan, steps);
  numbers.adders = steps.sharers();
  return numbers;
}

/// Kernels keep neither partial E over steps of N, nor several C that are exchanged and then make
/// room for others.
bool is_built(const Plan& plan, const ChainSteps& steps, const Capacity& capacity) {
  const bool again = steps.temporal[Dim::m] * steps.temporal[Dim::n] > capacity.c_tiles_held;
  return capacity.e_tiles_held == 1 && !(again && plan.shape.k > 1 && capacity.c_tiles_held > 1);
}

}  // namespace

Capacity capacity_built(const Chain& chain, const Plan& plan, const ChainSteps& steps,
                        const Machine& machine, Holding holding) {
  Capacity capacity = capacity_of(chain, plan, steps, machine, holding);
  const auto chip = chip::chip_of(machine);
  if (!chip || !capacity.fits() || !plan.shape.regular()) return capacity;
  chip::ChainNumbers numbers = numbers_of(chain, plan, steps, capacity.c_tiles_held);
  capacity.c = {.scratchpad = capacity.c.total()};
  capacity.e_accumulators = 1;
  capacity.slices_stay = capacity.buffers_fit = false;
  if (!is_built(plan, steps, capacity)) return capacity;
  const auto fits = [&](bool slices_stay) {
    numbers.slices_stay = slices_stay;
    chip::Needs needs = chip::chain_needs(numbers);
    for (chip::Ring& ring : needs.rings) ring.copies = capacity.stages;
    if (!chip::why_not(needs, *chip).empty()) return false;
    capacity.buffer_bytes = chip::scratchpad_of(needs) - capacity.c.scratchpad;
    return true;
  };
  for (capacity.stages = kStages; capacity.stages > 0; --capacity.stages) {
    capacity.buffers_fit = fits(false);
    if (!capacity.buffers_fit) continue;
    capacity.slices_stay =
        slices_can_stay(plan.shape, steps.temporal, capacity.c_tiles_held) && fits(true);
    return capacity;
  }
  capacity.stages = 1;
  return capacity;
}

}  // namespace fuseflow::cluster
