// Buffers in front of what is used late instead of behind it: a node all of whose consumers wait
// (a scan of weights that meet a row behind its reductions) works when they do. What is held then
// is what it makes its tokens of (a row of coordinates), not the tokens (a matrix for each row).
#pragma once

#include "lower/buffer_plan.h"

namespace fuseflow {

/// Moves buffers from the outputs of nodes to their inputs, consumers first, where no more buffers
/// and no more tokens come of it. What is waited for never needs a node that is moved so.
void start_late(const Graph& graph, BufferPlan& plan);

}  // namespace fuseflow
