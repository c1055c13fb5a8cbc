// The unfused program on the same machine: one launch a kernel, intermediates through global
// memory, every kernel with its own best tiles. No links are used.
#pragma once

#include "cluster/chain/chain.h"
#include "cluster/common/fastest.h"
#include "machine/machine.h"
#include "sim/tiles/timing.h"

namespace fuseflow::cluster {

/// What the unfused program is made of.
enum class Kernels : uint8_t {
  separate,  ///< one kernel an operator: activation, gate multiply and residual apart
  folded,    ///< elementwise operators in the products' stores, which then read what they need
  fixed,     ///< as separate, products not tuned: tiles of 128 x 128 x 64 (less where they do not
             ///< divide), one a block, K not split
};

/// The kernels of a chain one after the other, with the machine's reconfiguration_cycles between.
/// The branches of a gated chain are two products or, where that is faster, one (not `fixed`).
/// Each product is searched with the whole effort. Equal chains are searched once.
Measured unfused(const Chain& chain, const Machine& machine, const Effort& effort, Kernels kernels);

}  // namespace fuseflow::cluster
