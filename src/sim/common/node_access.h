// What the nodes of both executors look up, and what they say when they cannot go on. No rule of
// either.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/program.h"
#include "tensor/storage.h"

namespace fuseflow {

/// Loops around an input of a node.
int loops_around(const Graph& graph, const Node& node, size_t input);

/// The storage of a tensor, by TensorId; null where there is none.
const Storage* storage_of(const std::vector<std::shared_ptr<const Storage>>& data, TensorId tensor);

/// Throws Error(internal): only a defect of lowering or of the verifier explains this.
[[noreturn]] void blame_graph(const Program& program, const Graph& graph, NodeId node,
                              const std::string& what);
/// Throws Error(rejected): a graph written by hand can do this with some data.
[[noreturn]] void blame_data(const Program& program, const Graph& graph, NodeId node,
                             const std::string& what);

}  // namespace fuseflow
