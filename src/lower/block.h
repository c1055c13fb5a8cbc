// Blocks: turns a lowered graph over elements into one over blocks of them, as the formats of the
// region's tensors say. Rules: ir-spec/blocks.md.
#pragma once

#include <vector>

#include "lower/region_indices.h"

namespace fuseflow {

/// Elements in a block of each region index: what the formats of all tensors that it runs through
/// have for their dimension. Throws Error(rejected) where they disagree, or where a blocked
/// dimension is accessed otherwise than by a plain index over its whole extent.
std::vector<int64_t> block_extents(const Program& program, const Region& region,
                                   const RegionIndices& indices);

/// Rewrites the graph if any index is blocked. `loop_indices`: by index of the graph, which of the
/// region it runs over, or -1. `tags` (one a node) is kept in step.
void block_graph(Graph& graph, const Program& program, const Region& region,
                 const RegionIndices& indices, const std::vector<int>& loop_indices,
                 std::vector<size_t>& tags);

}  // namespace fuseflow
