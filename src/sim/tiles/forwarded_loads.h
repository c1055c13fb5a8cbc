// Tiles that the cores of a cluster share on a machine without multicast: one core loads each, and
// sends it to the others. Rules: ir-spec/cluster.md, "Clusters of kernels". Knows nothing of time.
#pragma once

#include "graph/graph.h"
#include "sim/tiles/tile_ops.h"

namespace fuseflow {

/// The operations of a cluster, of whose cores one loads what several load for the same step. (Else
/// each of them loads it, at once where the machine has multicast: multicast.h.)
TileOps forward_loads(const Graph& graph, const TileOps& ops);

}  // namespace fuseflow
