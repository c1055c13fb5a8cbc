#include "sim/tiles/rows_core.h"

namespace fuseflow {

RowsBuffer::Copy* RowsBuffer::find(const Tile& tile) {
  const auto found = copy_of.find(tile);
  return found == copy_of.end() ? nullptr : &copies[found->second];
}

RowsBuffer::Copy& RowsBuffer::replace(const Tile& tile) {
  Copy& copy = copies[next];
  if (copy.tile.first >= 0) copy_of.erase(copy.tile);
  copy.tile = tile;
  copy_of[tile] = next;
  next = (next + 1) % copies.size();
  return copy;
}

RowsCore::RowsCore(const Graph& graph, const RowsShape& shape)
    : buffers(shape.buffers.size()),
      registers(graph.streams.size()),
      room(shape.places.size()),
      made(graph.streams.size()),
      at(graph.indices.size(), 0) {
  for (size_t b = 0; b < buffers.size(); ++b) {
    buffers[b].copies.resize(static_cast<size_t>(shape.buffers[b].copies));
  }
  for (size_t s = 0; s < graph.streams.size(); ++s) {
    const Node& producer = graph.nodes[graph.streams[s].producer];
    const bool turns = producer.kind == NodeKind::tile_multiply;
    registers[s].copies.resize(turns ? static_cast<size_t>(producer.capacity) : 1);
    const int width = rows_width(graph, static_cast<StreamId>(s));
    if (shape.place_of[s] >= 0) {
      made[s].assign(static_cast<size_t>(graph.indices[width].extent), -1);
    }
  }
  for (size_t p = 0; p < shape.places.size(); ++p) {
    room[p].resize(static_cast<size_t>(shape.places[p].tiles));
  }
}

}  // namespace fuseflow
