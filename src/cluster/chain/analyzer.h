// The dataflow analyzer: where the reused intermediate of a plan lives, and how many bytes cross
// each memory level. A pure function of chain, plan and machine; nothing is searched or simulated.
// The meaning of every quantity is in ir-spec/cluster.md.
#pragma once

#include <cstdint>
#include <string>

#include "cluster/chain/chain.h"
#include "cluster/chain/schedule.h"
#include "cluster/common/load_cycles.h"
#include "graph/tiles.h"
#include "machine/machine.h"
#include "sim/tiles/expand.h"

namespace fuseflow::cluster {

inline constexpr int64_t kStages = 4;  ///< most copies of a tile buffer

/// One point of the search space.
struct Plan {
  LoopSchedule schedule;
  ClusterShape shape;
  Extents tile;  ///< blk_m, blk_n, blk_k, blk_l of one block
  GatedWay way = GatedWay::none;
};

/// Steps along a dimension: ceil of size / (cls * blk).
ChainSteps steps_of(const Chain& chain, const Plan& plan);

/// What a plan needs of one core.
struct Capacity {
  int64_t stages = 1;             ///< copies of each tile buffer: the most that displace nothing
  int64_t accumulator_bytes = 0;  ///< registers that cannot spill
  int64_t buffer_bytes = 0;       ///< tile and receive buffers of the scratchpad; cannot spill
  int64_t c_tiles_held = 1;       ///< C tiles of a core alive at a time
  int64_t e_tiles_held = 1;       ///< partial E tiles of a core alive at a time
  int64_t e_accumulators = 1;     ///< two where registers are left: sums overlap the next E tile
  bool slices_stay = false;       ///< of C, over steps of L: where room is left for them
  HeldBytes c;                    ///< the held C, the fastest level first
  HeldBytes e;                    ///< the held partial E beyond the accumulator, f32
  bool accumulators_fit = false;
  bool buffers_fit = false;
  /// Pruning rule 5: what cannot spill fits its level, and what can spill fits the lowest level on
  /// chip that may take it.
  bool fits() const { return accumulators_fit && buffers_fit && c.global == 0 && e.global == 0; }
};

/// What a plan may keep C in.
enum class Holding : uint8_t {
  linked,      ///< everything on chip: registers, scratchpad, linked scratchpads
  one_core,    ///< clusters of one core: registers and scratchpad; clusters may add in memory
  scratchpad,  ///< scratchpad-only fusion as known before: a whole row block of C (all of N) in one
               ///< core's scratchpad, registers for accumulators alone
};

/// What the published space counts (rule 5). What a kernel for the chip has: on_chip.h.
Capacity capacity_of(const Chain& chain, const Plan& plan, const ChainSteps& steps,
                     const Machine& machine, Holding holding = Holding::linked);

/// Visits of each tensor's tiles by one core of one cluster; the factors of the volumes.
struct Visits {
  int64_t a_loads = 0, b_loads = 0, d_loads = 0;  ///< tile loads
  int64_t c_tiles = 0;                            ///< C tiles finished
  int64_t passes = 0;                             ///< (C tile, l step) pairs
  int64_t rounds = 0;                             ///< .. in which C tiles are sent round
  int64_t e_tiles = 0;                            ///< E tiles stored
  int64_t first_multiplies = 0;                   ///< tile products of the first GEMM
  int64_t second_multiplies = 0;                  ///< of the second
  int64_t e_respills = 0;                         ///< partial E tiles written back (and read again)
  bool operator==(const Visits&) const = default;
};

/// Cores of a cluster that load the same tile together, where the machine has multicast; else 1.
struct Sharing {
  int64_t a = 1, b = 1, d = 1;
};

struct Analysis {
  ChainSteps steps;
  Capacity capacity;  ///< as the plan's kernel is built, where one can be (on_chip.h)
  Visits visits;
  LevelBytes core;      ///< one core of a cluster that also adds bias and residual
  LevelBytes first;     ///< the part of `core` that makes C
  LevelBytes second;    ///< the part of `core` that uses C
  LevelBytes epilogue;  ///< the part of `second` that only clusters that add bias and residual do
  LevelBytes total;     ///< the whole machine
  Sharing sharing;
  int64_t shared = 0;  ///< of what it loads: what multicast delivers, but memory gives once
  int64_t added = 0;   ///< of what it stores: what clusters add to E; memory reads it first, too
  LevelBytes settled;  ///< the part of `total` of those that add last: sums read, zeros, E
  int64_t core_flops = 0;                  ///< one core
  double first_work = 0, second_work = 0;  ///< ... what its products cost (Machine::matrix_work)
  /// Cycles of a core's lanes for one tile of C, for the sums of one of E, and for what follows
  /// them in its store.
  double c_lanes = 0, e_lanes = 0, store_lanes = 0;
  ElementBytes bytes;
  /// On a machine with an L2: of DRAM, those that no plan avoids and those of this one, about.
  double least_memory_bytes = 0, memory_bytes = 0;
};
Analysis analyze(const Chain& chain, const Plan& plan, const Machine& machine,
                 Holding holding = Holding::linked);

/// Bytes of loads that take an L2 as long as what it gives and takes for a plan; the bytes alone
/// where there is none.
double given_bytes(const Analysis& analysis, const Machine& machine);

/// What the last to add to a core's share of a tile of E does; no sums where nobody adds.
Settling settling_of(const Analysis& analysis, const Plan& plan);

/// Why a plan cannot run although it is a candidate; empty when it can. Tiles must divide, the two
/// products must use the same blocks, and an activation needs all of K in one cluster.
enum class Obstacle : uint8_t { none, divides, geometry, accumulation, way, capacity };
Obstacle obstacle_of(const Chain& chain, const Plan& plan, const ChainSteps& steps);

/// Time in cycles by resource: volume over bandwidth, times the waves of clusters that run one
/// after another.
struct Cost {
  double registers = 0, scratchpad = 0, link = 0, global = 0;
  double compute = 0;
  double phased = 0;     ///< the two products of a wave one after the other, with latencies
  double occupancy = 0;  ///< share of the machine's cores at work
  int64_t waves = 1;
  double memory() const;  ///< the largest of the four levels
  double bound() const;   ///< ... and the matrix units
};
Cost cost_of(const Analysis& analysis, const Plan& plan, const Machine& machine);

/// "MLK/N cls 1,2,8,8 blk 128,256,64,128 way none".
std::string describe(const Plan& plan);

}  // namespace fuseflow::cluster
