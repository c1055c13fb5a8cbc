// Checks that what a product of tiles leaves out as absent holds no value.
#pragma once

#include "graph/graph.h"
#include "sim/common/tensor_data.h"

namespace fuseflow {

/// Throws Error(rejected), at the tensor, where a tile that a kernel leaves out holds a value.
void check_absent_tiles(const Program& program, const Graph& graph, const TensorData& data);

}  // namespace fuseflow
