// Blocks as values: over which loops each value of a stream extends (Stream::block).
#pragma once

#include <vector>

#include "graph/graph.h"

namespace fuseflow {

/// Values that a block may have at most.
inline constexpr int64_t kMaxBlockVolume = int64_t{1} << 24;

/// Product of the block extents; more than kMaxBlockVolume where it is too large.
int64_t block_volume(const Graph& graph, const std::vector<int>& block);

}  // namespace fuseflow
