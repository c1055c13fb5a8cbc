#include "cluster/analyzer.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuseflow::cluster {
namespace {

constexpr std::array kAllDims{Dim::m, Dim::n, Dim::k, Dim::l};

int64_t branches_per_core(const Plan& plan) {
  return plan.way == GatedWay::sequential ? 2 : 1;
}

/// Blocks that share the K range: with split branches they share no K at all.
int64_t k_blocks(const Plan& plan) {
  return plan.way == GatedWay::split ? 1 : plan.shape.k;
}

/// Loads of a one-tile buffer: from the innermost loop outwards, a loop that touches the tensor
/// brings a new tile each step; once one has, every outer loop brings them all again.
class Reloads {
 public:
  void walk(int64_t steps, bool touches) {
    if (touches || changed_) {
      loads_ *= steps;
    }
    changed_ = changed_ || (touches && steps > 1);
  }
  int64_t loads() const { return loads_; }

 private:
  int64_t loads_ = 1;
  bool changed_ = false;
};

int64_t loads_of_a(const Plan& plan, const Trips& trips) {
  Reloads walk;
  walk.walk(trips.temporal[Dim::k], true);
  walk.walk(branches_per_core(plan), false);
  for (int depth = plan.schedule.loops() - 1; depth >= 0; --depth) {
    const Dim dim = plan.schedule.loop(depth);
    if (dim == Dim::m || dim == Dim::n) {
      walk.walk(trips.temporal[dim], dim == Dim::m);
    }
  }
  return walk.loads();
}

int64_t loads_of_b(const Plan& plan, const Trips& trips) {
  Reloads walk;
  walk.walk(trips.temporal[Dim::k], true);
  walk.walk(branches_per_core(plan), true);
  for (int depth = plan.schedule.loops() - 1; depth >= 0; --depth) {
    const Dim dim = plan.schedule.loop(depth);
    if (dim == Dim::m || dim == Dim::n) {
      walk.walk(trips.temporal[dim], dim == Dim::n);
    }
  }
  return walk.loads();
}

int64_t loads_of_d(const Plan& plan, const Trips& trips) {
  Reloads walk;
  walk.walk(plan.shape.shuffle(), true);
  for (int depth = plan.schedule.loops() - 1; depth >= 0; --depth) {
    const Dim dim = plan.schedule.loop(depth);
    if (dim != Dim::k) {
      walk.walk(trips.temporal[dim], dim != Dim::m);
    }
  }
  return walk.loads();
}

/// Tiles of C (reused over L) or of partial E (reused over N) alive at a time.
int64_t tiles_held(const Plan& plan, const Trips& trips, Dim reuse, Dim other) {
  if (trips.temporal[reuse] == 1) {
    return 1;
  }
  int64_t held = 1;
  for (const Dim dim : {Dim::m, other}) {
    if (plan.schedule.inside(dim, reuse)) {
      held *= trips.temporal[dim];
    }
  }
  return held;
}

/// Takes what fits from a level's free bytes.
int64_t take(int64_t& left, int64_t& free) {
  const int64_t taken = std::clamp<int64_t>(left, 0, std::max<int64_t>(free, 0));
  left -= taken;
  free -= taken;
  return taken;
}

Placement place(int64_t bytes, int64_t& registers, int64_t& scratchpad, int64_t links) {
  Placement placed;
  placed.registers = take(bytes, registers);
  placed.scratchpad = take(bytes, scratchpad);
  placed.links = take(bytes, links);
  placed.global = bytes;
  return placed;
}

int64_t receive_buffer(const Plan& plan, int64_t c_tile, int64_t e_tile, int64_t element) {
  const ClusterShape& shape = plan.shape;
  int64_t slot = 0;
  if (shape.k > 1) {
    slot = std::max(slot, c_tile / shape.k * kAccumulatorBytes);
  }
  if (shape.l > shape.k) {
    slot = std::max(slot, c_tile * element);
  }
  if (shape.regular() && shape.reduce() > 1) {
    slot = std::max(slot, e_tile / shape.reduce() * kAccumulatorBytes);
  }
  return kReceiveSlots * slot;
}

}  // namespace

Trips trips_of(const Chain& chain, const Plan& plan) {
  Trips trips;
  for (const Dim dim : kAllDims) {
    const int64_t blocks = dim == Dim::k ? k_blocks(plan) : plan.shape.along(dim);
    const int64_t extent = blocks * plan.tile[dim];
    const int64_t steps = (chain.size[dim] + extent - 1) / extent;
    trips.all[dim] = steps;
    if (plan.schedule.temporal(dim)) {
      trips.temporal[dim] = steps;
    } else {
      trips.clusters *= steps;
    }
  }
  return trips;
}

namespace {

Capacity capacity_with_stages(const Chain& chain, const Plan& plan, const Trips& trips,
                              const ClusterMachine& machine, bool links, int64_t stages) {
  const int64_t m = plan.tile[Dim::m], n = plan.tile[Dim::n], k = plan.tile[Dim::k],
                l = plan.tile[Dim::l];
  const int64_t element = chain.element_bytes;
  Capacity need;
  need.stages = stages;
  need.accumulator_bytes = kAccumulatorBytes * m * (n * branches_per_core(plan) + l);
  need.buffer_bytes =
      stages * element * (m * k + k * n + n * l) + receive_buffer(plan, m * n, m * l, element);
  need.c_tiles_held = tiles_held(plan, trips, Dim::l, Dim::n);
  need.e_tiles_held = tiles_held(plan, trips, Dim::n, Dim::l);
  int64_t registers = machine.register_bytes - need.accumulator_bytes;
  int64_t scratchpad = machine.scratchpad_bytes - need.buffer_bytes;
  need.accumulators_fit = registers >= 0;
  need.buffers_fit = scratchpad >= 0;
  // After the all-exchange the cls_k blocks of a group hold the same C; each can fetch from the
  // rest.
  const int64_t peers = links ? plan.shape.k - 1 : 0;
  const int64_t pool = peers * std::max<int64_t>(scratchpad, 0);
  need.c = place(need.c_tiles_held * m * n * element, registers, scratchpad, pool);
  const int64_t partial = need.e_tiles_held > 1 ? need.e_tiles_held * m * l : 0;
  need.e = place(partial * kAccumulatorBytes, registers, scratchpad, 0);
  return need;
}

}  // namespace

Capacity capacity_of(const Chain& chain, const Plan& plan, const Trips& trips,
                     const ClusterMachine& machine, bool links) {
  const Capacity twice = capacity_with_stages(chain, plan, trips, machine, links, kStages);
  return twice.fits() ? twice : capacity_with_stages(chain, plan, trips, machine, links, 1);
}

LevelBytes& LevelBytes::operator+=(const LevelBytes& other) {
  registers += other.registers;
  scratchpad_read += other.scratchpad_read;
  scratchpad_write += other.scratchpad_write;
  link += other.link;
  global_read += other.global_read;
  global_write += other.global_write;
  return *this;
}

LevelBytes operator*(int64_t factor, const LevelBytes& bytes) {
  return {factor * bytes.registers, factor * bytes.scratchpad_read, factor * bytes.scratchpad_write,
          factor * bytes.link,      factor * bytes.global_read,     factor * bytes.global_write};
}

namespace {

Visits visits_of(const Plan& plan, const Trips& trips, const Capacity& capacity) {
  const Extents& t = trips.temporal;
  Visits visits;
  visits.a_loads = loads_of_a(plan, trips);
  visits.b_loads = loads_of_b(plan, trips);
  visits.d_loads = loads_of_d(plan, trips);
  visits.c_tiles = t[Dim::m] * t[Dim::n];
  visits.passes = visits.c_tiles * t[Dim::l];
  visits.e_tiles = t[Dim::m] * t[Dim::l];
  visits.first_multiplies = visits.c_tiles * t[Dim::k] * branches_per_core(plan);
  visits.second_multiplies = visits.passes * plan.shape.shuffle();
  visits.e_respills = capacity.e_tiles_held > 1 ? visits.e_tiles * (t[Dim::n] - 1) : 0;
  return visits;
}

void global_load(LevelBytes& bytes, int64_t amount) {
  bytes.global_read += amount;
  bytes.scratchpad_write += amount;
}

void over_link(LevelBytes& bytes, int64_t amount) {
  bytes.link += amount;
  bytes.scratchpad_read += amount;
  bytes.scratchpad_write += amount;
}

/// Tile loads and tile products of one core.
void count_products(const Chain& chain, const Plan& plan, const Visits& visits, LevelBytes& out) {
  const int64_t m = plan.tile[Dim::m], n = plan.tile[Dim::n], k = plan.tile[Dim::k],
                l = plan.tile[Dim::l], element = chain.element_bytes;
  global_load(out, visits.a_loads * m * k * element);
  global_load(out, visits.b_loads * k * n * element);
  global_load(out, visits.d_loads * n * l * element);
  out.scratchpad_read += visits.first_multiplies * (m * k + k * n) * element;
  out.scratchpad_read += visits.second_multiplies * (m * n + n * l) * element;
  out.registers += 2 * kAccumulatorBytes * visits.first_multiplies * m * n;
  out.registers += 2 * kAccumulatorBytes * visits.second_multiplies * m * l;
  if (chain.bias0) {
    const int64_t bias = visits.c_tiles * branches_per_core(plan) * n * element;
    global_load(out, bias);
    out.scratchpad_read += bias;
  }
}

/// Where C and partial E are put and fetched from, each part at its level.
void count_held(const Visits& visits, const Capacity& capacity, int64_t l_steps, LevelBytes& out) {
  const Placement& c = capacity.c;
  const int64_t strips = visits.c_tiles / capacity.c_tiles_held;
  const int64_t uses = strips * l_steps;
  out.registers += (strips + uses) * c.registers;
  out.scratchpad_read -= uses * c.registers;  // these operands come from registers
  out.scratchpad_write += strips * c.scratchpad;
  over_link(out, uses * c.links);
  out.global_write += strips * c.global;
  global_load(out, uses * c.global);
  const Placement& e = capacity.e;
  const int64_t respills = visits.e_respills / capacity.e_tiles_held;
  out.registers += 2 * respills * e.registers;
  out.scratchpad_write += respills * e.scratchpad;
  out.scratchpad_read += respills * e.scratchpad;
  out.global_write += respills * e.global;
  out.global_read += respills * e.global;
}

/// Exchanges inside the cluster and the stores of E.
void count_communication(const Chain& chain, const Plan& plan, const Visits& visits,
                         const Trips& trips, LevelBytes& out) {
  const int64_t element = chain.element_bytes;
  const int64_t e_block = plan.tile[Dim::m] * plan.tile[Dim::l];
  const Communication sent =
      communicate(plan.shape, plan.way, plan.tile[Dim::m] * plan.tile[Dim::n], e_block);
  over_link(out, visits.c_tiles *
                     (sent.exchange_partial * kAccumulatorBytes + sent.exchange_gather * element));
  over_link(out, visits.passes * sent.shuffle * element);
  over_link(out, visits.e_tiles * sent.reduce_scatter * kAccumulatorBytes);
  const int64_t adds = inter_cluster_reduce(trips.all[Dim::n] / trips.temporal[Dim::n],
                                            trips.all[Dim::k] / trips.temporal[Dim::k]);
  const int64_t stored =
      visits.e_tiles * (e_block / plan.shape.reduce()) * (adds > 1 ? kAccumulatorBytes : element);
  out.global_write += stored;
  out.scratchpad_write += stored;
  out.scratchpad_read += stored;
}

/// Bias and residual of E: only one of the clusters that share an E range adds them.
LevelBytes count_epilogue(const Chain& chain, const Plan& plan, const Visits& visits) {
  const int64_t share = plan.tile[Dim::m] * plan.tile[Dim::l] / plan.shape.reduce();
  const int64_t amount = visits.e_tiles * chain.element_bytes *
                         ((chain.bias1 ? plan.tile[Dim::l] : 0) + (chain.residual ? share : 0));
  LevelBytes out;
  global_load(out, amount);
  out.scratchpad_read += amount;
  return out;
}

}  // namespace

Analysis analyze(const Chain& chain, const Plan& plan, const ClusterMachine& machine, bool links) {
  Analysis result;
  result.trips = trips_of(chain, plan);
  result.capacity = capacity_of(chain, plan, result.trips, machine, links);
  result.visits = visits_of(plan, result.trips, result.capacity);
  const Trips& trips = result.trips;
  LevelBytes common;
  count_products(chain, plan, result.visits, common);
  count_held(result.visits, result.capacity, trips.temporal[Dim::l], common);
  count_communication(chain, plan, result.visits, trips, common);
  const LevelBytes epilogue = count_epilogue(chain, plan, result.visits);
  const int64_t sharers =
      (trips.all[Dim::n] / trips.temporal[Dim::n]) * (trips.all[Dim::k] / trips.temporal[Dim::k]);
  result.core = common;
  result.core += epilogue;
  result.total = trips.clusters * plan.shape.cores() * common;
  result.total += trips.clusters / sharers * plan.shape.cores() * epilogue;
  const int64_t mn = plan.tile[Dim::m] * plan.tile[Dim::n];
  result.core_flops = 2 * mn *
                      (result.visits.first_multiplies * plan.tile[Dim::k] +
                       result.visits.second_multiplies * plan.tile[Dim::l]);
  return result;
}

Obstacle obstacle_of(const Chain& chain, const Plan& plan, const Trips& trips) {
  if (!plan.shape.regular()) {
    return Obstacle::geometry;
  }
  for (const Dim dim : kAllDims) {
    const int64_t blocks = dim == Dim::k ? k_blocks(plan) : plan.shape.along(dim);
    if (trips.all[dim] * blocks * plan.tile[dim] != chain.size[dim]) {
      return Obstacle::divides;
    }
  }
  if (!chain.linear() && trips.all[Dim::k] != trips.temporal[Dim::k]) {
    return Obstacle::accumulation;
  }
  const bool gated = plan.way != GatedWay::none;
  if (gated != chain.gated() || (plan.way == GatedWay::split && plan.shape.k != 2)) {
    return Obstacle::way;
  }
  return Obstacle::none;
}

double Cost::memory() const {
  return std::max({registers, scratchpad, link, global});
}

double Cost::bound() const {
  return std::max(memory(), compute);
}

Cost cost_of(const Analysis& analysis, const Plan& plan, const ClusterMachine& machine) {
  const int cores = plan.shape.cores();
  const int64_t at_a_time = std::max<int64_t>(machine.concurrent_clusters(cores), 1);
  const int64_t clusters = analysis.trips.clusters;
  const LevelBytes& core = analysis.core;
  Cost cost;
  cost.waves = (clusters + at_a_time - 1) / at_a_time;
  const auto waves = static_cast<double>(cost.waves);
  cost.registers = waves * static_cast<double>(core.registers) / machine.register_bytes_per_cycle;
  cost.scratchpad = waves * static_cast<double>(core.scratchpad_read + core.scratchpad_write) /
                    machine.scratchpad_bytes_per_cycle;
  cost.link = waves * static_cast<double>(core.link) / machine.link_bytes_per_cycle(cores);
  cost.global =
      std::max(waves * static_cast<double>(core.global()) / machine.core_port_bytes_per_cycle,
               static_cast<double>(analysis.total.global()) / machine.global_bytes_per_cycle());
  cost.compute = waves * static_cast<double>(analysis.core_flops) / machine.matrix_flops_per_cycle;
  cost.occupancy =
      static_cast<double>(clusters * cores) / static_cast<double>(cost.waves * machine.cores);
  return cost;
}

std::string describe(const Plan& plan) {
  const ClusterShape& s = plan.shape;
  return fmt::format("{} cls {},{},{},{} blk {},{},{},{} way {}", plan.schedule.name(), s.m, s.n,
                     s.k, s.l, plan.tile[Dim::m], plan.tile[Dim::n], plan.tile[Dim::k],
                     plan.tile[Dim::l], name_of(plan.way));
}

}  // namespace fuseflow::cluster
