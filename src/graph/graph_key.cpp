#include "graph/graph_key.h"

namespace fuseflow {

const Node& default_node() {
  static const Node node;
  return node;
}

std::vector<int64_t> places_of_streams(const Graph& graph) {
  std::vector<int64_t> places(graph.streams.size(), -1);
  int64_t next = 0;
  for (const Node& node : graph.nodes) {
    for (const StreamId out : node.outputs) {
      if (out >= 0) places[static_cast<size_t>(out)] = next++;
    }
  }
  return places;
}

}  // namespace fuseflow
