// The operations of the cores of a cluster of a kernel as one list, and what they share: a tile
// that several of them load for the same step is loaded once. Rules: ir-spec/cluster.md, "Clusters
// of kernels". What one core does is in kernel.h; knows nothing of time.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/tile_kernel.h"
#include "sim/tiles/tile_ops.h"

namespace fuseflow {

/// Where the operations of a step of a tile begin. Steps are ordered by turn, then step.
struct StepBegin {
  int32_t turn = 0;  ///< which of the cluster's groups of tiles, from 0
  int64_t step = 0;  ///< of k; kAfterSteps + e: what follows the last one, and e exchanges
  int32_t first_op = 0;
};
inline constexpr int64_t kAfterSteps = INT64_MAX - 1 - static_cast<int64_t>(kMostExchanges);

/// What one core of a cluster does.
struct KernelCoreOps {
  TileOps ops;
  std::vector<StepBegin> steps;
};

/// Cores in the order of their numbers. `over_links`: of the cores that load a tile together one
/// does, and sends it to the others; else each of them loads it, at once where the machine has
/// multicast (multicast.h). Of an exchange over the cluster a core's sum takes what the others send
/// for the same turn; these wait for its sum of the turn before.
TileOps join_cores(const Graph& graph, std::vector<KernelCoreOps> cores, bool over_links);

}  // namespace fuseflow
