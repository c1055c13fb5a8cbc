#include "cluster/common/element_bytes.h"

#include <algorithm>

#include "chip/copies.h"

namespace fuseflow::cluster {

void set_moved_bytes(Graph& graph, const StoredTensors& tensors) {
  for (Node& node : graph.nodes) {
    if (node.kind != NodeKind::tile_load && node.kind != NodeKind::tile_store) continue;
    const int64_t own = tensors.at(node.tensor).element_bytes;
    node.tile.element_bytes = own == graph.tiles->element_bytes ? 0 : own;
  }
}

void set_stored(Graph& graph, const StoredTensors& tensors) {
  int64_t of_operands = 0, of_all = 0;
  for (const Node& node : graph.nodes) {
    if (node.tensor >= 0) of_all = std::max(of_all, tensors.at(node.tensor).element_bytes);
    if (node.kind != NodeKind::tile_multiply) continue;
    for (const Input& input : node.inputs) {
      const NodeId from = graph.streams[static_cast<size_t>(input.stream)].producer;
      const Node& producer = graph.nodes[static_cast<size_t>(from)];
      if (producer.kind != NodeKind::tile_load) continue;
      of_operands = std::max(of_operands, tensors.at(producer.tensor).element_bytes);
    }
  }
  graph.tiles->element_bytes = of_operands > 0 ? of_operands : of_all;
  set_moved_bytes(graph, tensors);
  chip::mark_by_threads(graph, [&](TensorId tensor) { return tensors.at(tensor).shape; });
}

}  // namespace fuseflow::cluster
