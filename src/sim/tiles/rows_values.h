// Values of a kernel of rows: computed in f32 in the order of the graph.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "sim/tiles/values.h"

namespace fuseflow {

/// What each store gives, in order. Empty where `go_on` said no. Throws Error(rejected) where data
/// are not dense or a result has not the elements that the tiles give.
std::vector<std::pair<TensorId, std::shared_ptr<const Storage>>> rows_values(
    const Program& program, const Graph& graph, const TensorData& data,
    const std::function<bool()>& go_on);

}  // namespace fuseflow
