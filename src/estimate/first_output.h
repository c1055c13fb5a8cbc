// When a reduction gives its first output: the part of a pipeline's filling that depends on the
// data.
#pragma once

#include <vector>

#include "estimate/costs.h"

namespace fuseflow::estimate {

/// Fibers that a reduction reduces, at least 1.
double reduced_fibers(const Structure& structure, const Counts& counts, const Node& node);

/// By node: cycles from its first step to its first output, beyond the latency; 0 but for
/// reductions. `nodes`: their busy cycles.
std::vector<double> first_outputs(const Structure& structure, const Counts& counts,
                                  const std::vector<NodeCost>& nodes);

}  // namespace fuseflow::estimate
