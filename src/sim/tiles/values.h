// Values of a graph of tiles, of any form: tile after tile in f32, in the order of its loops
// (graph/tile_loop.h). Element types narrower than f32 are not rounded. Timing is elsewhere.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "sim/common/run_result.h"
#include "sim/common/tensor_data.h"

namespace fuseflow {

/// What each store gives, by tensor, ascending. Operands are read through the subscripts of their
/// nodes, fills outside of their shapes; padding is zeros. `go_on` is asked now and then; nothing
/// is given where it says no. Throws Error(rejected) where data are missing or not dense, where a
/// tile that is left out as absent holds a value, and where a result is too large, is stored twice
/// or has not the elements that the tiles give.
std::vector<std::pair<TensorId, std::shared_ptr<const Storage>>> tile_values(
    const Program& program, const Graph& graph, const TensorData& data,
    const std::function<bool()>& go_on);

}  // namespace fuseflow
