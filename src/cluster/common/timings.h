// What graphs of tiles take. Each is simulated once: a planner asks for equal kernels again and
// again, of equal layers and of equal parts of a program that it plans in several ways.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "machine/machine.h"
#include "sim/tiles/timing.h"

namespace fuseflow::cluster {

struct LaunchStart {
  int64_t most_cycles = 0;  ///< a launch that takes longer is not finished; 0: any
  /// Loads whose tensors an L2 holds from the start, the one touched the longest ago first.
  std::vector<NodeId> held = {};
};

/// What time_tiles (sim/tiles/timing.h) gives; each graph is timed once.
Measured timed(const Graph& graph, const Machine& machine, const LaunchStart& from = {});

}  // namespace fuseflow::cluster
