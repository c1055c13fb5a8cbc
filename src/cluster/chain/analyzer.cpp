#include "cluster/chain/analyzer.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/chain/on_chip.h"
#include "cluster/chain/reuse.h"
#include "cluster/common/load_cycles.h"
#include "support/ceil_div.h"

namespace fuseflow::cluster {
namespace {

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
  /// All loads, with the loops of the schedule over `dims`, of which the tensor has all but
  /// `other`.
  int64_t loads(const Plan& plan, const ChainSteps& steps, std::initializer_list<Dim> dims,
                Dim other) {
    for (int depth = plan.schedule.loops() - 1; depth >= 0; --depth) {
      const Dim dim = plan.schedule.loop(depth);
      const bool walked = std::find(dims.begin(), dims.end(), dim) != dims.end();
      if (walked) walk(steps.temporal[dim], dim != other);
    }
    return loads_;
  }

 private:
  int64_t loads_ = 1;
  bool changed_ = false;
};

int64_t loads_of_a(const Plan& plan, const ChainSteps& steps) {
  Reloads loop;
  loop.walk(steps.temporal[Dim::k], true);
  loop.walk(branches_per_core(plan), false);
  return loop.loads(plan, steps, {Dim::m, Dim::n}, Dim::n);
}

int64_t loads_of_b(const Plan& plan, const ChainSteps& steps) {
  Reloads loop;
  loop.walk(steps.temporal[Dim::k], true);
  loop.walk(branches_per_core(plan), true);
  return loop.loads(plan, steps, {Dim::m, Dim::n}, Dim::m);
}

int64_t loads_of_d(const Plan& plan, const ChainSteps& steps) {
  Reloads loop;
  loop.walk(plan.shape.shuffle(), true);
  return loop.loads(plan, steps, {Dim::m, Dim::n, Dim::l}, Dim::m);
}

/// Takes what fits from a level's free bytes.
int64_t take(int64_t& left, int64_t& free) {
  const int64_t taken = std::clamp<int64_t>(left, 0, std::max<int64_t>(free, 0));
  left -= taken;
  free -= taken;
  return taken;
}

HeldBytes place(int64_t bytes, int64_t& registers, int64_t& scratchpad, int64_t links) {
  HeldBytes placed;
  placed.registers = take(bytes, registers);
  placed.scratchpad = take(bytes, scratchpad);
  placed.links = take(bytes, links);
  placed.global = bytes;
  return placed;
}

}  // namespace

ChainSteps steps_of(const Chain& chain, const Plan& plan) {
  ChainSteps steps;
  for (const Dim dim : kAllDims) {
    const int64_t blocks = dim == Dim::k ? k_blocks(plan) : plan.shape.along(dim);
    steps.set(dim, ceil_div(chain.size[dim], blocks * plan.tile[dim]), plan.schedule.temporal(dim));
  }
  return steps;
}

namespace {

Capacity capacity_with_stages(const Chain& chain, const Plan& plan, const ChainSteps& steps,
                              const Machine& machine, Holding holding, int64_t stages) {
  const auto [m, n, k, l] = plan.tile.value;
  const int64_t element = chain.bytes.work();
  Capacity need;
  need.stages = stages;
  need.accumulator_bytes = kAccumulatorBytes * m * (n * branches_per_core(plan) + l);
  // By name: clang 14 captures no bindings.
  const auto received = [&, m = m, n = n, l = l](bool slices_stay) {
    // FlashFuser's rule; of two cores, what is built and simulated needs one slot.
    return receive_room(plan.shape, m * n, m * l, element, slices_stay, kReceiveSlots);
  };
  need.buffer_bytes =
      stages * (m * k * chain.bytes.a + k * n * chain.bytes.b + n * l * chain.bytes.d) +
      received(false);
  const auto depth = [&](Dim dim) { return plan.schedule.position(dim); };
  need.c_tiles_held = chain_tiles_held(steps, depth, Dim::l, Dim::n);
  need.e_tiles_held = chain_tiles_held(steps, depth, Dim::n, Dim::l);
  int64_t registers = machine.core.register_bytes - need.accumulator_bytes;
  int64_t scratchpad = machine.core.scratchpad_bytes - need.buffer_bytes;
  need.accumulators_fit = registers >= 0;
  need.buffers_fit = scratchpad >= 0;
  if (holding == Holding::scratchpad) {
    const bool whole_rows = steps.steps[Dim::n] == steps.temporal[Dim::n];
    need.buffers_fit =
        whole_rows && need.e_tiles_held == 1 && m * chain.size[Dim::n] * element <= scratchpad;
    registers = 0;
  }
  // After the all-exchange the cls_k blocks of a group hold the same C; each can fetch from the
  // rest.
  const int64_t peers = holding == Holding::linked ? plan.shape.k - 1 : 0;
  const int64_t pool = peers * std::max<int64_t>(scratchpad, 0);
  need.c = place(need.c_tiles_held * m * n * element, registers, scratchpad, pool);
  const int64_t partial = need.e_tiles_held > 1 ? need.e_tiles_held * m * l : 0;
  need.e = place(partial * kAccumulatorBytes, registers, scratchpad, 0);
  need.e_accumulators = registers >= kAccumulatorBytes * m * l ? 2 : 1;
  if (slices_can_stay(plan.shape, steps.temporal, need.c_tiles_held)) {
    const int64_t more = received(true) - received(false);
    need.slices_stay = need.c.links == 0 && more <= scratchpad;
    if (need.slices_stay) need.buffer_bytes += more;
  }
  return need;
}

}  // namespace

Capacity capacity_of(const Chain& chain, const Plan& plan, const ChainSteps& steps,
                     const Machine& machine, Holding holding) {
  const Capacity single = capacity_with_stages(chain, plan, steps, machine, holding, 1);
  for (int64_t stages = kStages; stages > 1 && single.fits(); --stages) {
    const Capacity more = capacity_with_stages(chain, plan, steps, machine, holding, stages);
    if (more.fits() && more.c.links == single.c.links) {
      return more;
    }
  }
  return single;
}

namespace {

Visits visits_of(const Plan& plan, const ChainSteps& steps, const Capacity& capacity) {
  const Extents& t = steps.temporal;
  Visits visits;
  visits.a_loads = loads_of_a(plan, steps);
  visits.b_loads = loads_of_b(plan, steps);
  visits.d_loads = loads_of_d(plan, steps);
  visits.c_tiles = t[Dim::m] * t[Dim::n];
  visits.passes = visits.c_tiles * t[Dim::l];
  visits.rounds = capacity.slices_stay ? visits.c_tiles : visits.passes;
  visits.e_tiles = t[Dim::m] * t[Dim::l];
  visits.first_multiplies = visits.c_tiles * t[Dim::k] * branches_per_core(plan);
  visits.second_multiplies = visits.passes * plan.shape.shuffle();
  visits.e_respills = capacity.e_tiles_held > 1 ? visits.e_tiles * (t[Dim::n] - 1) : 0;
  return visits;
}

/// Tile loads and tile products of one core.
void count_products(const Chain& chain, const Plan& plan, const Visits& visits, LevelBytes& first,
                    LevelBytes& second) {
  const auto [m, n, k, l] = plan.tile.value;
  const ElementBytes& each = chain.bytes;
  const int64_t a = m * k * each.a, b = k * n * each.b, c = m * n * each.work(), d = n * l * each.d;
  first.load(visits.a_loads * a);
  first.load(visits.b_loads * b);
  second.load(visits.d_loads * d);
  first.scratchpad_read += visits.first_multiplies * (a + b);
  second.scratchpad_read += visits.second_multiplies * (c + d);
  first.registers += 2 * kAccumulatorBytes * visits.first_multiplies * m * n;
  second.registers += 2 * kAccumulatorBytes * visits.second_multiplies * m * l;
  const int64_t bias = visits.c_tiles * chain.bias0 * n * each.bias0;
  first.load(bias);
  first.scratchpad_read += bias;
}

/// Where C and partial E are put and fetched from, each part at its level.
void count_held(const Visits& visits, const Capacity& capacity, int64_t l_steps, LevelBytes& first,
                LevelBytes& second) {
  const HeldBytes& c = capacity.c;
  const int64_t strips = visits.c_tiles / capacity.c_tiles_held;
  const int64_t uses = strips * l_steps;
  first.registers += strips * c.registers;
  first.scratchpad_write += strips * c.scratchpad;
  first.global_write += strips * c.global;
  second.registers += uses * c.registers;
  second.scratchpad_read -= uses * c.registers;  // these operands come from registers
  second.send(uses * c.links);
  second.load(uses * c.global);
  const HeldBytes& e = capacity.e;
  const int64_t respills = visits.e_respills / capacity.e_tiles_held;
  second.registers += 2 * respills * e.registers;
  second.scratchpad_write += respills * e.scratchpad;
  second.scratchpad_read += respills * e.scratchpad;
  second.global_write += respills * e.global;
  second.global_read += respills * e.global;
}

/// Bytes of E that a core stores, or adds.
int64_t stored_of_e(const Chain& chain, const Plan& plan, const Visits& visits, int64_t sharers) {
  const int64_t e_block = plan.tile[Dim::m] * plan.tile[Dim::l];
  return visits.e_tiles * (e_block / plan.shape.reduce()) *
         (sharers > 1 ? added_bytes(chain.bytes.e) : chain.bytes.e);
}

/// Exchanges inside the cluster and the stores of E.
void count_communication(const Chain& chain, const Plan& plan, const Visits& visits,
                         const ChainSteps& steps, LevelBytes& first, LevelBytes& second) {
  const int64_t element = chain.bytes.work();
  const int64_t e_block = plan.tile[Dim::m] * plan.tile[Dim::l];
  const Communication sent =
      communicate(plan.shape, plan.way, plan.tile[Dim::m] * plan.tile[Dim::n], e_block);
  first.send(visits.c_tiles *
             (sent.exchange_partial * kAccumulatorBytes + sent.exchange_gather * element));
  second.send(visits.rounds * sent.shuffle * element);
  second.send(visits.e_tiles * sent.reduce_scatter * kAccumulatorBytes);
  second.store(stored_of_e(chain, plan, visits, steps.sharers()));
}

/// Bias and residual of E: only one of the clusters that share an E range adds them.
LevelBytes count_epilogue(const Chain& chain, const Plan& plan, const Visits& visits) {
  const int64_t share = plan.tile[Dim::m] * plan.tile[Dim::l] / plan.shape.reduce();
  const int64_t amount = visits.e_tiles * (chain.bias1 * plan.tile[Dim::l] * chain.bytes.bias1 +
                                           chain.residual * share * chain.bytes.residual);
  LevelBytes out;
  out.load(amount);
  out.scratchpad_read += amount;
  return out;
}

void count_work(const Plan& plan, const Machine& machine, Analysis& result) {
  const auto [m, n, k, l] = plan.tile.value;
  const int64_t first = result.visits.first_multiplies, second = result.visits.second_multiplies;
  result.core_flops = 2 * m * n * (first * k + second * l);
  result.first_work =
      static_cast<double>(first) * machine.matrix_work(m, n, k, result.bytes.work());
  result.second_work =
      static_cast<double>(second) * machine.matrix_work(m, l, n, result.bytes.work());
}

/// Partial sums of C and E are added by the core that finishes them, C is mapped there.
void count_lanes(const Chain& chain, const Plan& plan, const Machine& machine, Analysis& result) {
  const ClusterShape& shape = plan.shape;
  const bool split = plan.way == GatedWay::split;
  LaneWork of_c = work_of_c(chain);
  of_c.vector += split ? 0 : (shape.k - 1) * branches_per_core(plan);
  const int64_t c_share = plan.tile[Dim::m] / shape.k * plan.tile[Dim::n];
  const int64_t e_share = plan.tile[Dim::m] / shape.reduce() * plan.tile[Dim::l];
  result.c_lanes = lane_cycles(c_share * of_c, machine);
  result.e_lanes = lane_cycles({.vector = (shape.reduce() - 1) * e_share}, machine);
  result.store_lanes = lane_cycles(e_share * work_of_e(chain), machine);
}

/// Bytes that `cores` cores load of one tensor beyond those that memory gives.
int64_t beyond_once(int64_t bytes_of_a_core, int64_t sharing, int64_t cores) {
  return cores / sharing * (sharing - 1) * bytes_of_a_core;
}

/// Vectors that C and E take are read by threads, by each core for itself.
int64_t shared_bytes(const Chain& chain, const Plan& plan, const Analysis& a) {
  const Extents& t = plan.tile;
  const Sharing& sharing = a.sharing;
  const int64_t cores = a.steps.clusters * plan.shape.cores();
  const ElementBytes& each = chain.bytes;
  const Visits& v = a.visits;
  return beyond_once(v.a_loads * t[Dim::m] * t[Dim::k] * each.a, sharing.a, cores) +
         beyond_once(v.b_loads * t[Dim::k] * t[Dim::n] * each.b, sharing.b, cores) +
         beyond_once(v.d_loads * t[Dim::n] * t[Dim::l] * each.d, sharing.d, cores);
}

Sharing sharing_of(const Chain& chain, const Plan& plan, const Machine& machine) {
  if (!machine.links.multicast) return {};
  const ClusterShape& shape = plan.shape;
  const int64_t m = shape.m, n = shape.n;
  const int64_t branches = plan.way == GatedWay::split ? shape.k : 1;  // both take all of K
  const Chain::ByThreads& alone = chain.by_threads;
  return {alone.a ? 1 : n * branches, alone.b ? 1 : m, alone.d ? 1 : m};
}

}  // namespace

Settling settling_of(const Analysis& analysis, const Plan& plan) {
  if (analysis.added == 0) return {};
  const int64_t share = plan.tile[Dim::m] * plan.tile[Dim::l] / plan.shape.reduce();
  return {share * added_bytes(analysis.bytes.e), share * analysis.bytes.e, 0};
}

Analysis analyze(const Chain& chain, const Plan& plan, const Machine& machine, Holding holding) {
  Analysis result;
  result.bytes = chain.bytes;
  result.steps = steps_of(chain, plan);
  result.capacity = capacity_built(chain, plan, result.steps, machine, holding);
  if (!result.capacity.fits())
    result.capacity = capacity_of(chain, plan, result.steps, machine, holding);
  result.visits = visits_of(plan, result.steps, result.capacity);
  const ChainSteps& steps = result.steps;
  LevelBytes& first = result.first;
  LevelBytes& second = result.second;
  count_products(chain, plan, result.visits, first, second);
  count_held(result.visits, result.capacity, steps.temporal[Dim::l], first, second);
  count_communication(chain, plan, result.visits, steps, first, second);
  LevelBytes common = first;
  common += second;
  result.epilogue = count_epilogue(chain, plan, result.visits);
  const int64_t sharers = steps.sharers();
  const int64_t cores = steps.clusters * plan.shape.cores();
  result.core = common;
  result.core += result.epilogue;
  second += result.epilogue;
  result.total = cores * common;
  result.total += steps.clusters / sharers * plan.shape.cores() * result.epilogue;
  count_work(plan, machine, result);
  count_lanes(chain, plan, machine, result);
  result.sharing = sharing_of(chain, plan, machine);
  result.shared = shared_bytes(chain, plan, result);
  if (sharers > 1) {
    result.added = cores * stored_of_e(chain, plan, result.visits, sharers);
    const Settling each = settling_of(result, plan);
    const int64_t shares = cores / sharers * result.visits.e_tiles;
    result.settled.global_read = shares * each.sums;
    result.settled.global_write = shares * (each.sums + each.result);
    result.total += result.settled;
  }
  result.least_memory_bytes =
      static_cast<double>(machine.has_l2() ? least_bytes(chain, true)
                                           : result.total.global() - result.shared + result.added);
  result.memory_bytes = memory_bytes(chain, plan, result, machine);
  return result;
}

double given_bytes(const Analysis& analysis, const Machine& machine) {
  const LevelBytes& total = analysis.total;
  const auto added = static_cast<double>(analysis.added);
  return static_cast<double>(total.global_read - analysis.shared) +
         as_loaded(static_cast<double>(total.global_write) - added, false, machine) +
         as_loaded(added, true, machine);
}

Obstacle obstacle_of(const Chain& chain, const Plan& plan, const ChainSteps& steps) {
  if (!plan.shape.regular()) {
    return Obstacle::geometry;
  }
  for (const Dim dim : kAllDims) {
    const int64_t blocks = dim == Dim::k ? k_blocks(plan) : plan.shape.along(dim);
    if (steps.steps[dim] * blocks * plan.tile[dim] != chain.size[dim]) {
      return Obstacle::divides;
    }
  }
  const bool k_spread = steps.steps[Dim::k] != steps.temporal[Dim::k];
  const bool e_spread = k_spread || steps.steps[Dim::n] != steps.temporal[Dim::n];
  if ((k_spread && !chain.linear()) || (e_spread && !chain.sums_alone())) {
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

namespace {

/// Cycles of one level each for what one core of a wave does; `global_rate` is in bytes a cycle.
Cost level_cycles(const LevelBytes& bytes, double matrix_cycles, int cores, double global_rate,
                  const Machine& machine) {
  Cost cost;
  cost.registers = static_cast<double>(bytes.registers) / machine.core.register_bytes_per_cycle;
  cost.scratchpad = static_cast<double>(bytes.scratchpad_read + bytes.scratchpad_write) /
                    machine.core.scratchpad_bytes_per_cycle;
  cost.link = cycles_at(static_cast<double>(bytes.link), machine.link_bytes_per_cycle(cores));
  cost.global = static_cast<double>(bytes.global()) / global_rate;
  cost.compute = matrix_cycles;
  return cost;
}

/// Bytes a cycle of global memory for a core that can have only `in_flight` bytes, in pieces of
/// `piece`, under way at a time.
double latency_rate(double in_flight, double piece, const SharedMemory& memory) {
  const double round_trip = memory.latency + piece / memory.rate;
  return std::min(memory.rate, in_flight / round_trip);
}

/// One wave as its two products one after the other, with the latencies that nothing hides: the
/// first loads and the last stores, and an exchange of each C tile. A reduce-scatter, and what
/// follows it, overlap the next E tile only when there is an accumulator for it.
double phased_cycles(const Analysis& a, const Plan& plan, const SharedMemory& memory,
                     const Machine& machine) {
  const int cores = plan.shape.cores();
  const Extents& t = plan.tile;
  const auto ab = static_cast<double>(t[Dim::k] * (t[Dim::m] * a.bytes.a + t[Dim::n] * a.bytes.b));
  const auto d = static_cast<double>(t[Dim::n] * t[Dim::l] * a.bytes.d);
  const double matrix = machine.matrix_rate(a.bytes.work());
  const auto stages = static_cast<double>(a.capacity.stages);
  const Cost first = level_cycles(a.first, a.first_work / matrix, cores,
                                  latency_rate(stages * ab, ab, memory), machine);
  Cost second = level_cycles(a.second, a.second_work / matrix, cores,
                             latency_rate(stages * d, d, memory), machine);
  const auto latency = static_cast<double>(machine.link_latency(cores));
  const auto c_tiles = static_cast<double>(a.visits.c_tiles);
  const auto e_tiles = static_cast<double>(a.visits.e_tiles);
  double cycles = 2 * static_cast<double>(machine.global.latency_cycles);
  cycles += plan.shape.k > 1 ? c_tiles * 2 * latency + first.link : 0;
  cycles += c_tiles * a.c_lanes;
  const double first_rest =
      std::max({first.registers, first.scratchpad, first.global, first.compute});
  cycles += (a.capacity.e_accumulators == 1 ? e_tiles : 1) * a.store_lanes;
  if (a.added > 0) cycles += e_tiles * count_cycles(machine);
  if (plan.shape.reduce() > 1 && a.capacity.e_accumulators == 1) {
    cycles += second.link + e_tiles * (latency + a.e_lanes);
    second.link = 0;
  }
  return cycles + first_rest + second.bound();
}

}  // namespace

Cost cost_of(const Analysis& analysis, const Plan& plan, const Machine& machine) {
  const int cores = plan.shape.cores();
  const int64_t at_a_time = std::max<int64_t>(machine.concurrent_clusters(cores), 1);
  const int64_t clusters = analysis.steps.clusters;
  const int64_t waves = ceil_div(clusters, at_a_time);
  const auto times = static_cast<double>(waves);
  const double cores_at_work = static_cast<double>(clusters * cores) / times;
  const double matrix = machine.matrix_rate(analysis.bytes.work());
  const auto asked = static_cast<double>(analysis.total.global());
  const SharedMemory memory = shared_memory(
      {asked, given_bytes(analysis, machine), analysis.memory_bytes}, cores_at_work, machine);
  Cost cost = level_cycles(analysis.core, (analysis.first_work + analysis.second_work) / matrix,
                           cores, memory.rate, machine);
  cost.waves = waves;
  for (double* level :
       {&cost.registers, &cost.scratchpad, &cost.link, &cost.global, &cost.compute}) {
    *level *= times;
  }
  cost.occupancy = cores_at_work / static_cast<double>(machine.core.count);
  cost.phased = times * phased_cycles(analysis, plan, memory, machine) +
                settle_cycles(settling_of(analysis, plan), machine);
  return cost;
}

std::string describe(const Plan& plan) {
  const ClusterShape& s = plan.shape;
  return fmt::format("{} cls {},{},{},{} blk {},{},{},{} way {}", plan.schedule.name(), s.m, s.n,
                     s.k, s.l, plan.tile[Dim::m], plan.tile[Dim::n], plan.tile[Dim::k],
                     plan.tile[Dim::l], name_of(plan.way));
}

}  // namespace fuseflow::cluster
