// Which intermediates of a region are computed and used alike, so that a search can move them
// together: the queries, keys and values of all layers, the maxima of all softmaxes.
#pragma once

#include <vector>

#include "ir/program.h"

namespace fuseflow {

using TensorGroup = std::vector<TensorId>;

/// Groups of `tensors` (results of statements of `region`), level by level, the coarsest first:
/// those whose statements have the same form, then those whose producers and consumers do, too, and
/// so on, then each alone. Every group stands once; groups and members are in program order.
std::vector<std::vector<TensorGroup>> alike_tensors(const Program& program, const Region& region,
                                                    const TensorGroup& tensors);

}  // namespace fuseflow
