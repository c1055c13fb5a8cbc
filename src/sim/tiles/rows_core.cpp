#include "sim/tiles/rows_core.h"

#include <algorithm>

namespace fuseflow {

RowsBuffer::Copy* RowsBuffer::find(int64_t tile) {
  const auto found = copy_of.find(tile);
  return found == copy_of.end() ? nullptr : &copies[found->second];
}

RowsBuffer::Copy& RowsBuffer::replace(int64_t tile) {
  Copy& copy = copies[next];
  if (copy.tile >= 0) copy_of.erase(copy.tile);
  copy.tile = tile;
  copy_of[tile] = next;
  next = (next + 1) % copies.size();
  return copy;
}

RowsCore::RowsCore(const Graph& graph, const RowsShape& shape)
    : buffers(graph.nodes.size()),
      registers(graph.streams.size()),
      room(shape.places.size()),
      made(graph.streams.size()),
      at(graph.indices.size(), 0) {
  for (const NodeId n : shape.loads) {
    const auto node = static_cast<size_t>(n);
    const int64_t tiles = rows_load_tiles(graph, graph.nodes[node]);
    buffers[node].copies.resize(
        static_cast<size_t>(std::min(graph.nodes[node].capacity, tiles)));
  }
  for (size_t s = 0; s < graph.streams.size(); ++s) {
    const Node& producer = graph.nodes[static_cast<size_t>(graph.streams[s].producer)];
    const bool turns = producer.kind == NodeKind::tile_multiply;
    registers[s].copies.resize(turns ? static_cast<size_t>(producer.capacity) : 1);
    const int width = rows_width(graph, static_cast<StreamId>(s));
    if (shape.place_of[s] >= 0) {
      made[s].assign(static_cast<size_t>(graph.indices[static_cast<size_t>(width)].extent), -1);
    }
  }
  for (size_t p = 0; p < shape.places.size(); ++p) {
    room[p].resize(static_cast<size_t>(shape.places[p].tiles));
  }
}

}  // namespace fuseflow
