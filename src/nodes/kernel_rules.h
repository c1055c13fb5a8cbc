// The rules of kernels of tiles (graph/tile_kernel.h), which hold for the graph as a whole.
#pragma once

#include <functional>
#include <string>

#include "graph/graph.h"

namespace fuseflow {

/// Reports what is not a kernel: one store, at most one reduction, tiles of few elements, maps that
/// broadcast, subscripts of the dimensions that their tiles have. Ids must be valid.
void verify_kernel(const Graph& graph, const std::function<void(NodeId, std::string)>& error);

}  // namespace fuseflow
