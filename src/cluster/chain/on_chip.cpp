#include "cluster/chain/on_chip.h"

#include "chip/fit.h"

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

/// With one copy of each operand.
chip::Needs needs_of(const Chain& chain, const Plan& plan, const Trips& trips, int64_t c_tiles) {
  const int64_t m = plan.tile[Dim::m], n = plan.tile[Dim::n], k = plan.tile[Dim::k],
                l = plan.tile[Dim::l];
  const int branches = plan.way == GatedWay::sequential ? 2 : 1;
  const int64_t c_bytes = m * n * chain.bytes.work();
  const chip::SumsSize c{m, n}, e{m, l};
  const ClusterShape& shape = plan.shape;
  chip::Needs needs;
  needs.rings.push_back({1, m * k * chain.bytes.a});
  for (int b = 0; b < branches; ++b) needs.rings.push_back({1, k * n * chain.bytes.b});
  needs.rings.push_back({1, n * l * chain.bytes.d});
  needs.sums = {c};
  if (chain.gated()) needs.sums.push_back(c);
  needs.sums.push_back(e);
  needs.together = sums_over_steps(plan, trips);
  needs.rooms.push_back(c_tiles * c_bytes);
  for (int b = 0; b < branches && shape.k > 1; ++b) chip::add_scatter(needs, c, shape.k);
  if (shape.k > 1) ++needs.barriers;  // finished shares that go to all
  if (shape.shuffle() > 1) chip::add_round(needs, c_bytes, shape.shuffle());
  if (shape.reduce() > 1) chip::add_scatter(needs, e, shape.reduce());
  if (sharers_of(trips) > 1) needs.rooms.push_back(m * l * chip::kSumBytes);
  return needs;
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
  chip::Needs needs = needs_of(chain, plan, trips, capacity.c_tiles_held);
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
