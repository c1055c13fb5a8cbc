#include "graph/tile_rows.h"

#include <algorithm>

namespace fuseflow {
namespace {

const std::vector<int>& dims_of_stream(const Graph& graph, StreamId s) {
  return graph.streams[static_cast<size_t>(s)].block;
}

RowsPlace place_wanted(const Graph& graph, StreamId s) {
  const NodeId producer = graph.streams[static_cast<size_t>(s)].producer;
  const bool everywhere = graph.nodes[static_cast<size_t>(producer)].kind == NodeKind::gather;
  const GraphIndex& width = graph.indices[static_cast<size_t>(rows_width(graph, s))];
  return {everywhere ? width.extent : width.extent / width.tiling.cluster,
          graph.indices[kRowsM].block * width.block};
}

/// Gives places to the streams that are read after their loop.
void give_places(const Graph& graph, RowsShape& shape) {
  shape.place_of.assign(graph.streams.size(), -1);
  const std::vector<int> last = last_loops(graph, shape);
  std::vector<int> taken_until;  // by place: the last loop that reads what it has
  for (int loop = 0; loop < static_cast<int>(shape.loops.size()); ++loop) {
    for (const NodeId n : shape.loops[static_cast<size_t>(loop)].nodes) {
      for (const StreamId s : graph.nodes[static_cast<size_t>(n)].outputs) {
        const auto of = static_cast<size_t>(s);
        if (rows_width(graph, s) < 0 || last[of] <= loop) continue;
        const RowsPlace wanted = place_wanted(graph, s);
        const size_t place = take_place(shape.places, wanted, [&](size_t at) {
          return taken_until[at] < loop && shape.places[at] == wanted;
        });
        taken_until.resize(shape.places.size());
        taken_until[place] = last[of];
        shape.place_of[of] = static_cast<int>(place);
      }
    }
  }
}

void give_buffers(const Graph& graph, RowsShape& shape) {
  shape.buffer_of.assign(graph.nodes.size(), -1);
  for (const NodeId n : shape.loads) {
    const Node& load = graph.nodes[static_cast<size_t>(n)];
    const std::vector<int>& dims = dims_of_stream(graph, load.outputs[0]);
    RowsBufferSize wanted{std::min(load.capacity, load_tiles(graph, load)), 1,
                          moved_bytes(graph, load), false};
    for (const int dim : dims) wanted.elements *= graph.indices[static_cast<size_t>(dim)].block;
    wanted.shared =
        dims.size() == 2 && dims[0] >= kRowsWidths && wanted.copies < load_tiles(graph, load);
    const size_t buffer = take_place(shape.buffers, wanted, [&](size_t at) {
      const RowsBufferSize& other = shape.buffers[at];
      return wanted.shared && other.shared && other.elements == wanted.elements &&
             other.element_bytes == wanted.element_bytes;
    });
    shape.buffers[buffer].copies = std::max(shape.buffers[buffer].copies, wanted.copies);
    shape.buffer_of[static_cast<size_t>(n)] = static_cast<int>(buffer);
  }
}

}  // namespace

bool is_tile_rows(const Graph& graph) {
  return graph.tiles && graph.indices.size() > kRowsWidths && graph.indices[kRowsG].name == "g";
}

RowsShape rows_shape(const Graph& graph) {
  RowsShape shape;
  shape.loops = tile_loops(graph).loops;
  shape.loop_of.assign(graph.nodes.size(), -1);
  for (size_t loop = 0; loop < shape.loops.size(); ++loop) {
    for (const NodeId n : shape.loops[loop].nodes) {
      shape.loop_of[static_cast<size_t>(n)] = static_cast<int>(loop);
    }
  }
  for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n) {
    const NodeKind kind = graph.nodes[static_cast<size_t>(n)].kind;
    if (kind == NodeKind::tile_load) shape.loads.push_back(n);
    if (kind == NodeKind::tile_store) shape.stores.push_back(n);
  }
  give_places(graph, shape);
  give_buffers(graph, shape);
  return shape;
}

std::vector<int> last_loops(const Graph& graph, const RowsShape& shape) {
  std::vector<int> last(graph.streams.size(), -1);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const Input& input : graph.nodes[n].inputs) {
      if (input.is_immediate()) continue;
      int& of = last[static_cast<size_t>(input.stream)];
      of = std::max(of, shape.loop_of[n]);
    }
  }
  return last;
}

int rows_width(const Graph& graph, StreamId stream) {
  for (const int dim : dims_of_stream(graph, stream)) {
    if (dim >= kRowsWidths) return dim;
  }
  return -1;
}

RowsCluster rows_cluster(const Graph& graph) {
  RowsCluster cluster;
  cluster.rows = graph.indices[kRowsM].tiling.cluster;
  for (size_t d = kRowsWidths; d < graph.indices.size(); ++d) {
    cluster.wide = std::max(cluster.wide, graph.indices[d].tiling.cluster);
  }
  return cluster;
}

int64_t rows_tiles(const Graph& graph) {
  return graph.indices[kRowsM].extent * graph.indices[kRowsG].extent;
}

}  // namespace fuseflow
