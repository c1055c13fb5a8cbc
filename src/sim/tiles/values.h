// Values of a graph of tiles: what its operations compute, cluster after cluster, along the data
// edges only. Element types narrower than f32 are not rounded; sums are f32 in the order of the
// operations. Timing is elsewhere.
#pragma once

#include <functional>
#include <memory>

#include "sim/common/run_result.h"
#include "sim/common/tensor_data.h"

namespace fuseflow {

/// The stored E. Operands are read through the subscripts of their nodes, fills outside of their
/// shapes; padding is zeros. `go_on` is asked once a cluster; null is returned when it says no.
/// Throws Error(rejected) when data are missing or E is too large.
std::shared_ptr<const Storage> tile_values(const Program& program, const Graph& graph,
                                           const TensorData& data,
                                           const std::function<bool()>& go_on);

}  // namespace fuseflow
