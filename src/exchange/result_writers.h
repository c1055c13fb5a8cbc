// From the writes of single levels, in any order, to the tensors that a graph gives.
#pragma once

#include <vector>

#include "exchange/node_reader.h"

namespace fuseflow {

/// Adds the tensors, and the nodes that write them. Throws Error(rejected).
void add_results(GraphAssembler& graph, TensorTable& tensors, const std::vector<Write>& writes);

}  // namespace fuseflow
