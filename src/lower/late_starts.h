// Buffers in front of what is used late instead of after it: a node all of whose consumers wait
// (a scan of weights that meet a row after its reductions) can work when they do. What must be
// held then is what it makes its tokens of (a row of coordinates), not the tokens (a matrix for
// each row). How far it works ahead of them is then a matter of room: what is after it holds a
// token at least, and as much as without a late start at most.
#pragma once

#include "lower/buffer_plan.h"

namespace fuseflow {

/// What a buffer after a late start must hold: no more than any FIFO does.
constexpr int64_t kLeastAhead = 1;

/// Moves buffers from the outputs of nodes to their inputs, consumers first, where this takes no
/// more buffers and no more tokens, and much is held. What is waited for never needs a node that is
/// moved. Gives whether anything is.
bool start_late(const Graph& graph, BufferPlan& plan);

}  // namespace fuseflow
