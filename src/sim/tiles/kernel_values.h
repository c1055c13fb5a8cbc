// Values of a kernel of tiles (graph/tile_kernel.h), tile after tile in f32. Timing is elsewhere.
#pragma once

#include <functional>
#include <memory>

#include "sim/common/run_result.h"
#include "sim/common/tensor_data.h"

namespace fuseflow {

/// What the kernel stores. Outside of a tensor its fill is read. `go_on` is asked now and then;
/// null is returned when it says no. Throws Error(rejected) when data are missing or the result is
/// too large.
std::shared_ptr<const Storage> kernel_values(const Program& program, const Graph& graph,
                                             const TensorData& data,
                                             const std::function<bool()>& go_on);

}  // namespace fuseflow
