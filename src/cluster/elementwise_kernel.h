// An elementwise kernel by itself.
#pragma once

#include "machine/machine.h"
#include "sim/tiles/timing.h"

namespace fuseflow::cluster {

/// An elementwise kernel over `elements`: reads `inputs` tensors, writes one. The kernels before
/// wrote the first `held` of them: an L2 holds them as far as they fit.
struct MapSize {
  int64_t elements = 1;
  int inputs = 1;
  int held = 0;
  int64_t read_bytes = 2, stored_bytes = 2;  ///< of an element
  LaneWork each = {};                        ///< of an element
};
Measured elementwise(const MapSize& size, const Machine& machine);

}  // namespace fuseflow::cluster
