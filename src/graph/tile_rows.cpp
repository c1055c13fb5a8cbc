#include "graph/tile_rows.h"

#include <algorithm>

namespace fuseflow {
namespace {

const std::vector<int>& dims_of_stream(const Graph& graph, StreamId s) {
  return graph.streams[static_cast<size_t>(s)].block;
}

/// Gives places to the streams that are read after their loop.
class Places {
 public:
  Places(const Graph& graph, RowsShape& shape) : g_(graph), shape_(shape) {}

  void fill() {
    shape_.place_of.assign(g_.streams.size(), -1);
    find_last_loops();
    for (size_t loop = 0; loop < shape_.loops.size(); ++loop) {
      for (const NodeId n : shape_.loops[loop].nodes) {
        for (const StreamId s : g_.nodes[static_cast<size_t>(n)].outputs) {
          if (rows_width(g_, s) >= 0 && last_loop_[static_cast<size_t>(s)] > static_cast<int>(loop))
            give_place(s, static_cast<int>(loop));
        }
      }
    }
  }

 private:
  void find_last_loops() {
    last_loop_.assign(g_.streams.size(), -1);
    for (size_t n = 0; n < g_.nodes.size(); ++n) {
      for (const Input& input : g_.nodes[n].inputs) {
        if (input.is_immediate()) continue;
        int& last = last_loop_[static_cast<size_t>(input.stream)];
        last = std::max(last, shape_.loop_of[n]);
      }
    }
  }

  void give_place(StreamId s, int loop) {
    const Stream& stream = g_.streams[static_cast<size_t>(s)];
    const GraphIndex& width = g_.indices[static_cast<size_t>(rows_width(g_, s))];
    const bool everywhere = g_.nodes[static_cast<size_t>(stream.producer)].kind == NodeKind::gather;
    RowsPlace wanted;
    wanted.tiles = everywhere ? width.extent : width.extent / width.tiling.cluster;
    wanted.elements = g_.indices[kRowsM].block * width.block;
    size_t place = 0;
    while (place < shape_.places.size() &&
           !(taken_until_[place] < loop && shape_.places[place].tiles == wanted.tiles &&
             shape_.places[place].elements == wanted.elements)) {
      ++place;
    }
    if (place == shape_.places.size()) {
      shape_.places.push_back(wanted);
      taken_until_.push_back(-1);
    }
    taken_until_[place] = last_loop_[static_cast<size_t>(s)];
    shape_.place_of[static_cast<size_t>(s)] = static_cast<int>(place);
  }

  const Graph& g_;
  RowsShape& shape_;
  std::vector<int> last_loop_;    ///< by stream: the last loop that reads it
  std::vector<int> taken_until_;  ///< by place: the last loop that reads what it has
};

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
    size_t buffer = 0;
    const auto same = [&](const RowsBufferSize& other) {
      return wanted.shared && other.shared && other.elements == wanted.elements &&
             other.element_bytes == wanted.element_bytes;
    };
    while (buffer < shape.buffers.size() && !same(shape.buffers[buffer])) ++buffer;
    if (buffer == shape.buffers.size()) shape.buffers.push_back(wanted);
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
  Places(graph, shape).fill();
  give_buffers(graph, shape);
  return shape;
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
