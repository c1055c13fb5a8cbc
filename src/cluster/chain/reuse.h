// How many of the bytes that the cores load and store an L2 leaves to DRAM, about: for the ranking
// of plans alone. The simulator counts them (sim/tiles/memory.h), the bound does not ask.
#pragma once

#include "cluster/chain/analyzer.h"

namespace fuseflow::cluster {

/// Bytes of DRAM of a plan; `analysis.total.global()` on a machine without an L2.
double memory_bytes(const Chain& chain, const Plan& plan, const Analysis& analysis,
                    const Machine& machine);

/// Bytes of DRAM for one tensor of which `loaded` bytes are loaded, `distinct` of them different
/// ones, and `together` cores load the same ones at about the same time.
double read_once_together(double loaded, double distinct, double together);

/// Global memory as one of the cores at work sees it.
struct SharedMemory {
  double rate = 0;     ///< bytes a cycle
  double latency = 0;  ///< cycles, of an access on average
};
/// What all cores together load and store; what memory or an L2 gives for that, as loads, less by
/// multicast; what DRAM moves of it.
struct SharedBytes {
  double asked = 0, given = 0, moved = 0;
};
SharedMemory shared_memory(const SharedBytes& bytes, double cores_at_work, const Machine& machine);

}  // namespace fuseflow::cluster
