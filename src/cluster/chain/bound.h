// A lower bound on the simulated cycles of a plan, from the dependences and resources that the
// simulator charges (sim/tiles/launch.h). It lets the search leave plans out without simulating
// them; it never decides which of two plans is better. Derivation: ir-spec/cluster.md, "The bound".
#pragma once

#include <cstdint>

#include "cluster/chain/analyzer.h"
#include "cluster/common/load_cycles.h"

namespace fuseflow::cluster {

/// No simulation of the plan, in full, takes fewer cycles.
int64_t least_cycles(const Analysis& analysis, const Plan& plan, const Machine& machine);

/// A block of a one-core kernel Y = X W: it loads tiles of X and W into `stages` copies of a buffer
/// each, multiplies, and stores.
struct BlockWork {
  int64_t m = 16, n = 16, k = 16;  ///< one product of tiles
  int64_t products = 1, x_loads = 1, w_loads = 1, stages = 1;
  int64_t x_bytes = 2, w_bytes = 2;  ///< of an element
  int64_t least_stored_bytes = 0;    ///< of one tile of Y, or of sums where blocks add to it
  int64_t global_bytes = 0;          ///< of the block: loads and stores
  int64_t scratchpad_bytes = 0;      ///< ... reads and writes
  Settling settling;                 ///< where blocks add to the same tile of Y
  int64_t least_memory_bytes = 0;    ///< of all blocks: what DRAM moves at least
  double lanes = 0;        ///< cycles of the elementwise work on one tile of Y, where nobody adds
  int cores = 1;           ///< blocks of a cluster
  double given_bytes = 0;  ///< to and from all blocks: what an L2 gives and takes, as loads
};
/// No simulation of so many blocks in one launch takes fewer cycles.
int64_t least_cycles(const BlockWork& block, int64_t blocks, const Machine& machine);

}  // namespace fuseflow::cluster
