// Computes the spaces of a graph (graph/spaces.h) by applying the typing rule of every node.
#pragma once

#include <span>
#include <string>

#include "graph/spaces.h"

namespace fuseflow {

/// Each violation is reported by name; streams that depend on it get no space and are not reported
/// again. The graph's ids must be valid (verify_graph checks).
Spaces compute_spaces(const Graph& graph, std::span<const GraphTensor> tensors,
                      const GraphError& error);

/// The same; throws Error(rejected) at the first violation.
Spaces compute_spaces(const Graph& graph, std::span<const GraphTensor> tensors);

/// "$c = scan %adj.0": how messages call a node.
std::string node_text(const Graph& graph, std::span<const GraphTensor> tensors, NodeId node);

}  // namespace fuseflow
