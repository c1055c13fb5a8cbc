// What the nodes of both executors look up, and what they say when they cannot go on. No rule of
// either.
#pragma once

#include <string>

#include "ir/program.h"

namespace fuseflow {

/// Loops around an input of a node.
int loops_around(const Graph& graph, const Node& node, size_t input);

/// Throws Error(internal): only a defect of lowering or of the verifier explains this.
[[noreturn]] void blame_graph(const Program& program, const Graph& graph, NodeId node,
                              const std::string& what);
/// Throws Error(rejected): a graph written by hand can do this with some data.
[[noreturn]] void blame_data(const Program& program, const Graph& graph, NodeId node,
                             const std::string& what);

}  // namespace fuseflow
