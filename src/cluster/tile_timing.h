// Exact timing of tile graphs on a machine: an event simulation with resources that serve in the
// order of simulated time (ties by cluster, then node). Counts the bytes that the nodes move.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/tile_graph.h"

namespace fuseflow::cluster {

/// What one launch (a kernel) took.
struct Measured {
  int64_t cycles = 0;
  LevelBytes bytes;
  int64_t flops = 0;
  int64_t nodes = 0;
  int64_t matrix_busy_cycles = 0;              ///< summed over cores
  Measured& operator+=(const Measured& next);  ///< `next` runs after this one
};

/// Clusters of one launch: graph `graphs[which[c]]` for cluster c. Cluster c waits until cluster
/// c - (clusters at a time) has ended; within a cluster every node runs when its operands and its
/// space are there.
Measured time_launch(const ClusterMachine& machine, const std::vector<const TileGraph*>& graphs,
                     const std::vector<uint8_t>& which);

}  // namespace fuseflow::cluster
