// An elementwise kernel by itself.
#pragma once

#include <array>

#include "machine/machine.h"
#include "sim/tiles/timing.h"

namespace fuseflow::cluster {

/// An elementwise kernel over `elements`: reads `inputs` tensors, writes one. The kernels before
/// wrote the first `held` of them: an L2 holds them as far as they fit.
struct MapSize {
  int64_t elements = 1;
  int inputs = 1;
  int held = 0;
  std::array<int64_t, 2> read_bytes{2, 2};  ///< of an element of each input
  int64_t stored_bytes = 2;
  LaneWork each = {};  ///< of an element
};
Measured elementwise(const MapSize& size, const Machine& machine);

}  // namespace fuseflow::cluster
