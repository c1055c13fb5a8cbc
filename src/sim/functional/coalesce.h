// Makes one segment of several short ones. What a batch costs besides its tokens (memory for its
// parts, looking for the next node) is about what a hundred tokens cost, and after a reduction or
// a sparse intersection segments are that short.
#pragma once

#include <span>

#include "sim/functional/tokens.h"

namespace fuseflow::engine {

/// The tokens of all these, which follow one another in a stream. Payloads are words, not names of
/// blocks.
Segment coalesce(std::span<const Segment> parts);

}  // namespace fuseflow::engine
