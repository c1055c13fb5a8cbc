#include "cluster/chain/on_chip.h"

#include "chip/needs.h"

namespace fuseflow::cluster {
namespace {

/// Whether E is summed over steps of N, while C is made.
bool sums_over_steps(const Plan& plan, const Trips& trips) {
  for (int depth = plan.schedule.loops() - 1; depth >= 0; --depth) {
    const Dim dim = plan.schedule.loop(depth);
    if (dim != Dim::k && trips.temporal[dim] > 1) return dim == Dim::n;
  }
  return false;
}

chip::ChainNumbers numbers_of(const Chain& chain, const Plan& plan, const Trips& trips,
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
  numbers.sums_over_n = sums_over_steps(plan, trips);
  numbers.adders = sharers_of(trips);
  return numbers;
}

/// Kernels keep neither partial E over steps of N, nor several C that are exchanged and then make
/// room for others.
bool is_built(const Plan& plan, const Trips& trips, const Capacity& capacity) {
  const bool again = trips.temporal[Dim::m] * trips.temporal[Dim::n] > capacity.c_tiles_held;
  return capacity.e_tiles_held == 1 && !(again && plan.shape.k > 1 && capacity.c_tiles_held > 1);
}

}  // namespace

Capacity capacity_built(const Chain& chain, const Plan& plan, const Trips& trips,
                        const Machine& machine, Holding holding) {
  Capacity capacity = capacity_of(chain, plan, trips, machine, holding);
  const auto chip = chip::chip_of(machine);
  if (!chip || !capacity.fits() || !plan.shape.regular()) return capacity;
  chip::Needs needs = chip::chain_needs(numbers_of(chain, plan, trips, capacity.c_tiles_held));
  capacity.c = {.scratchpad = capacity.c.total()};
  capacity.e_accumulators = 1;
  capacity.buffers_fit = false;
  if (!is_built(plan, trips, capacity)) return capacity;
  for (capacity.stages = kStages; capacity.stages > 0; --capacity.stages) {
    for (chip::Ring& ring : needs.rings) ring.copies = capacity.stages;
    capacity.buffer_bytes = chip::scratchpad_of(needs) - capacity.c.scratchpad;
    capacity.buffers_fit = chip::why_not(needs, *chip).empty();
    if (capacity.buffers_fit) return capacity;
  }
  capacity.stages = 1;
  return capacity;
}

}  // namespace fuseflow::cluster
