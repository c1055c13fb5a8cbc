// Exact timing of operations on tiles on a machine of cores: an event simulation with resources
// that serve in the order of simulated time (ties by cluster, then operation). Counts the bytes
// that the operations move. Knows no graphs. Rules: ir-spec/cluster.md.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "machine/machine.h"
#include "sim/tiles/memory.h"
#include "sim/tiles/places.h"
#include "sim/tiles/tile_ops.h"

namespace fuseflow {

/// What the operations of one node of the graph did, over all cores and clusters.
struct TileNodeTime {
  int64_t operations = 0;
  int64_t flops = 0;
  LevelBytes bytes;
  /// Maximal stretches [first, end) of time, in ticks, in which an operation was under way.
  std::vector<std::pair<int64_t, int64_t>> busy;
};

/// What one launch (a kernel) took.
struct Measured {
  int64_t cycles = 0;
  LevelBytes bytes;
  int64_t flops = 0;  ///< of the matrix units
  int64_t nodes = 0;
  int64_t matrix_busy_cycles = 0;              ///< summed over cores
  bool finished = true;                        ///< false: `go_on` said no, or `most_cycles` passed
  Measured& operator+=(const Measured& next);  ///< `next` runs after this one
};

struct LaunchOptions {
  int64_t element_bytes = 2;
  std::vector<TileNodeTime>* nodes = nullptr;  ///< by NodeId of the graph; sized by the caller
  std::function<bool(int64_t cycles)> go_on;   ///< asked now and then
  int64_t most_cycles = 0;  ///< a launch that takes longer is not finished; 0: any
  /// Which tiles the operations load and store; null: each of them a tile of its own.
  const TilePlaces* places = nullptr;
  /// Tiles that the L2 holds from the start, the one used the longest ago first.
  std::vector<std::pair<TileKey, int64_t>> held;
};

/// Clusters of one launch: operations `graphs[which[c]]` for cluster c. Cluster c waits until
/// cluster c - (clusters at a time) has ended; within a cluster every operation runs when its
/// operands and its space are there.
Measured time_launch(const Machine& machine, const std::vector<const TileOps*>& graphs,
                     const std::vector<int32_t>& which, const LaunchOptions& options = {});

/// Throws Error(rejected): so many cores are no cluster of the machine.
[[noreturn]] void refuse_cluster(int cores, const Machine& machine);

}  // namespace fuseflow
