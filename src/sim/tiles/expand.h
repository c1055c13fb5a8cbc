// A chain unrolled: one operation for each tile that a node of its graph handles on one core of one
// cluster. Every cluster runs the same operations at its own coordinates (places.h). Timing is in
// timing.h, values in values.h.
#pragma once

#include <cstdint>

#include "graph/tiles.h"
#include "sim/tiles/tile_ops.h"

namespace fuseflow {

/// The operations of one cluster. Throws Error(unfinished) above kMostTileOps.
TileOps expand_tiles(const Graph& graph, bool epilogue);

}  // namespace fuseflow
