#include "sim/tiles/rows_counts.h"

#include <algorithm>

#include "graph/tile_kernel.h"
#include "graph/tiles.h"
#include "sim/tiles/tile_ops.h"

namespace fuseflow {
namespace {

const Node& node_of(const Graph& graph, NodeId n) {
  return graph.nodes[n];
}

bool spread(const Graph& graph, int width) {
  return width >= 0 && graph.indices[width].tiling.cluster > 1;
}

/// Registers of the nodes of a loop, for the tiles that they give beside (m).
int64_t registers_of(const Graph& graph, const TileLoop& loop) {
  int64_t bytes = 0;
  for (const NodeId n : loop.nodes) {
    const Node& node = node_of(graph, n);
    if (node.kind == NodeKind::gather) continue;
    for (const StreamId s : node.outputs) {
      if (rows_width(graph, s) < 0) continue;
      const int64_t copies = node.kind == NodeKind::tile_multiply ? node.capacity : 1;
      bytes += copies * tile_elements(graph, s) * kAccumulatorBytes;
    }
  }
  return bytes;
}

int64_t need_registers(const Graph& graph, const RowsShape& shape) {
  std::vector<int64_t> loops;
  int64_t of_rows = 0;
  for (const TileLoop& loop : shape.loops) {
    if (loop.index >= 0) loops.push_back(registers_of(graph, loop));
    for (const NodeId n : loop.nodes) {
      for (const StreamId s : node_of(graph, n).outputs) {
        if (rows_width(graph, s) < 0) of_rows += tile_elements(graph, s) * kAccumulatorBytes;
      }
    }
  }
  int64_t most = 0;
  for (size_t i = 0; i < loops.size(); ++i) {
    const int64_t next = loops.size() > 1 ? loops[(i + 1) % loops.size()] : 0;
    most = std::max(most, loops[i] + next);
  }
  return most + of_rows;
}

}  // namespace

KernelNeed rows_need(const Graph& graph) {
  const RowsShape shape = rows_shape(graph);
  const RowsCluster cluster = rows_cluster(graph);
  const int64_t element = graph.tiles->element_bytes;
  KernelNeed need;
  need.registers = need_registers(graph, shape);
  for (const RowsBufferSize& buffer : shape.buffers) {
    need.scratchpad += buffer.copies * buffer.elements * buffer.element_bytes;
  }
  for (const RowsPlace& place : shape.places) {
    need.scratchpad += place.tiles * place.elements * element;
  }
  for (const NodeId n : shape.stores) {
    const Node& store = node_of(graph, n);
    need.scratchpad += tile_elements(graph, store.inputs[0].stream) * moved_bytes(graph, store);
  }
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::reduce) continue;
    if (!spread(graph, rows_width(graph, node.inputs[0].stream))) continue;
    need.scratchpad += (cluster.wide - 1) * numbers_sent(tile_elements(graph, node.outputs[0])) *
                       kAccumulatorBytes;
  }
  return need;
}

int64_t rows_tiles_computed(const Graph& graph, const Node& node) {
  const bool by_operand = node.kind == NodeKind::reduce || node.kind == NodeKind::tile_store;
  const int width = rows_width(graph, by_operand ? node.inputs[0].stream : node.outputs[0]);
  const int64_t tiles = width < 0 ? 1 : graph.indices[width].extent;
  const bool each = !spread(graph, width) && node.kind != NodeKind::tile_store;
  return rows_tiles(graph) * tiles * (each ? rows_cluster(graph).wide : 1);
}

}  // namespace fuseflow
