// Computes the spaces of a graph (graph/spaces.h) by applying the typing rule of every node.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/spaces.h"

namespace fuseflow {

/// Each violation is reported by name; streams that depend on it get no space and are not reported
/// again. The graph's ids must be valid (verify_graph checks).
Spaces compute_spaces(const Graph& graph, std::span<const GraphTensor> tensors,
                      const GraphError& error);

/// Computes spaces, and throws Error(rejected) at the first violation.
Spaces compute_spaces(const Graph& graph, std::span<const GraphTensor> tensors);

/// Computes spaces, and gives streams with untyped[stream] the type that their node gives them:
/// kind, loops and block. Those that depend on a violation stay as they are.
Spaces infer_types(Graph& graph, std::span<const GraphTensor> tensors,
                   const std::vector<bool>& untyped, const GraphError& error);

/// The loop whose coordinates a crd stream holds (into Graph::indices): its own, or, where it was
/// repeated, one around.
int loop_of_coordinates(const Graph& graph, const Spaces& spaces, StreamId stream);

/// "$c = scan %adj.0": how messages call a node.
std::string node_text(const Graph& graph, std::span<const GraphTensor> tensors, NodeId node);

}  // namespace fuseflow
