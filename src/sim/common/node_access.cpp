#include "sim/common/node_access.h"

#include <fmt/format.h>

#include "nodes/spaces.h"
#include "support/defect.h"
#include "support/error.h"

namespace fuseflow {

namespace {

/// The node in words, and what is wrong with it.
std::string described(const Program& program, const Graph& graph, NodeId node,
                      const std::string& what) {
  return fmt::format("node {}: {}", node_text(graph, graph_tensors(program), node), what);
}

}  // namespace

int loops_around(const Graph& graph, const Node& node, size_t input) {
  const auto stream = static_cast<size_t>(node.inputs[input].stream);
  return static_cast<int>(graph.streams[stream].indices.size());
}

void blame_graph(const Program& program, const Graph& graph, NodeId node, const std::string& what) {
  throw Defect(described(program, graph, node, what));
}

void blame_data(const Program& program, const Graph& graph, NodeId node, const std::string& what) {
  throw Error(ExitCode::rejected,
              "the graph does not fit its data: " + described(program, graph, node, what));
}

}  // namespace fuseflow
