// Writers of a region's results and stored intermediates: removes what a compressed format leaves
// out, and makes the level and value writers.
#pragma once

#include "lower/emit.h"

namespace fuseflow {

/// Writes `value` (over the plain indices `map`, by dimension) as `tensor`.
void write_result(const Program& program, TensorId tensor, const std::vector<int>& map,
                  StreamTensor value, Emitter& emitter, GraphBuilder& builder);

}  // namespace fuseflow
