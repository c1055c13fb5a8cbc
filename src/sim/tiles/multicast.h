// Which loads of the cores of a cluster bring the same tile at the same point of their programs, so
// that a machine with multicast reads it once for all of them. Rules: ir-spec/cluster.md,
// "Multicast". Knows nothing of time (launch.h).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/tiles/tile_ops.h"

namespace fuseflow {

struct SharedLoads {
  std::vector<int32_t> group;                 ///< by operation: which group it is of; -1: none
  std::vector<std::vector<int32_t>> members;  ///< by group: its operations, the lowest first
};

/// Who shares a tile: nobody, those whose loads multicast can bring, or all.
enum class Sharers : uint8_t { nobody, of_multicast, all };

/// Cores run the same program, so the loads that come together are those of a tile that each core
/// loads for the same time.
SharedLoads shared_loads(const TileOps& ops, Sharers sharers);

}  // namespace fuseflow
