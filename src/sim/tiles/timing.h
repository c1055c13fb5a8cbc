// The time of a graph of tiles: its operations as one launch (launch.h), and the laws that what
// they moved keeps (conservation.h).
#pragma once

#include "graph/graph.h"
#include "machine/machine.h"
#include "sim/tiles/launch.h"

namespace fuseflow {

/// A graph of tiles as one launch.
Measured time_tiles(const Graph& graph, const Machine& machine, LaunchOptions options = {});

}  // namespace fuseflow
