#include "graph/tile_loop.h"

#include <algorithm>
#include <map>
#include <utility>

#include "graph/tile_kernel.h"
#include "graph/tile_rows.h"
#include "graph/tiles.h"

namespace fuseflow {
namespace {

/// Puts the nodes of a kernel of rows into loops. A stage begins where something has to be whole:
/// the left operand of a product, the result of a reduction.
class LoopsOfRows {
 public:
  explicit LoopsOfRows(const Graph& graph) : g_(graph), stage_(graph.nodes.size(), 0) {}

  std::vector<TileLoop> loops() {
    std::map<std::pair<int, int>, std::vector<NodeId>> by_stage_and_width;
    for (NodeId n = 0; n < static_cast<NodeId>(g_.nodes.size()); ++n) {
      const Node& node = g_.nodes[static_cast<size_t>(n)];
      if (node.kind == NodeKind::tile_load) continue;
      stage_[static_cast<size_t>(n)] = stage_of(node);
      by_stage_and_width[{stage_[static_cast<size_t>(n)], walked(node)}].push_back(n);
    }
    std::vector<TileLoop> loops;
    for (auto& [key, nodes] : by_stage_and_width) loops.push_back({key.second, std::move(nodes)});
    return loops;
  }

 private:
  int stage_of(const Node& node) const {
    int stage = 0;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].is_immediate()) continue;
      const NodeId from = g_.streams[static_cast<size_t>(node.inputs[i].stream)].producer;
      const Node& producer = g_.nodes[static_cast<size_t>(from)];
      if (producer.kind == NodeKind::tile_load) continue;
      const bool whole =
          producer.kind == NodeKind::reduce || (node.kind == NodeKind::tile_multiply && i == 0);
      stage = std::max(stage, stage_[static_cast<size_t>(from)] + (whole ? 1 : 0));
    }
    return stage;
  }

  /// The width whose tiles a node walks: those of its result, a reduction those of its operand.
  int walked(const Node& node) const {
    const bool by_operand = node.kind == NodeKind::reduce || node.kind == NodeKind::tile_store;
    return rows_width(g_, by_operand ? node.inputs[0].stream : node.outputs[0]);
  }

  const Graph& g_;
  std::vector<int> stage_;  ///< by node
};

/// Nodes in two loops: those whose tiles extend over a dimension, and what gives no tile, are in
/// the second.
std::vector<TileLoop> split_loops(const Graph& graph, int dim, TileLoop first, TileLoop second) {
  for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    if (node.kind == NodeKind::tile_load) continue;
    bool along = node.outputs.empty();
    for (const StreamId s : node.outputs) {
      const std::vector<int>& dims = graph.streams[static_cast<size_t>(s)].block;
      along = along || std::find(dims.begin(), dims.end(), dim) != dims.end();
    }
    (along ? second : first).nodes.push_back(n);
  }
  return {std::move(first), std::move(second)};
}

TileLoops loops_of_kernel(const Graph& graph) {
  if (has_second_product(graph)) {
    return {{kKernelG, kKernelM}, split_loops(graph, kKernelL, {kKernelN, {}}, {-1, {}})};
  }
  const KernelRoles roles = kernel_roles(graph);
  const bool product =
      roles.reductions.size() == 1 &&
      graph.nodes[static_cast<size_t>(roles.reductions[0])].kind == NodeKind::tile_multiply;
  TileLoops loops{{kKernelG, kKernelM, kKernelN}, {}};
  TileLoop once;
  if (product) {
    once.nodes = roles.steps;
  } else if (!roles.steps.empty()) {
    for (std::vector<NodeId>& walk : kernel_walks(graph, roles)) {
      loops.loops.push_back({kKernelK, std::move(walk)});
    }
  }
  once.nodes.insert(once.nodes.end(), roles.last.begin(), roles.last.end());
  once.nodes.push_back(roles.store);
  loops.loops.push_back(std::move(once));
  return loops;
}

}  // namespace

TileLoops tile_loops(const Graph& graph) {
  switch (tile_form(graph)) {
    case TileForm::rows:
      return {{kRowsG, kRowsM}, LoopsOfRows(graph).loops()};
    case TileForm::kernel:
      return loops_of_kernel(graph);
    case TileForm::chain:
      break;
  }
  constexpr int kN = index_of(Dim::n), kL = index_of(Dim::l);
  return {{index_of(Dim::m)}, split_loops(graph, kL, {kN, {}}, {kL, {}})};
}

}  // namespace fuseflow
