#include "cuda/rows_place.h"

#include <fmt/format.h>

#include "cuda/coordinates.h"
#include "cuda/text.h"
#include "support/ceil_div.h"

namespace fuseflow::cuda {

RowsPlaces::RowsPlaces(const Graph& graph)
    : graph_(graph),
      shape_(rows_shape(graph)),
      core_(chip::rows_on_core(graph)),
      cluster_(rows_cluster(graph)) {}

int64_t RowsPlaces::own_tiles(int width) const {
  const GraphIndex& index = graph_.indices[static_cast<size_t>(width)];
  return index.extent / index.tiling.cluster;
}

Coordinate RowsPlaces::column_core() const {
  return coordinate(cluster_.wide > 1 ? "core_w" : "");
}

Coordinate RowsPlaces::tile_of(int width) const {
  const bool spread = graph_.indices[static_cast<size_t>(width)].tiling.cluster > 1;
  return sum(spread ? times(column_core(), own_tiles(width)) : Coordinate{}, coordinate("tile"));
}

Coordinate RowsPlaces::tile_in_room(StreamId stream) const {
  const int room = core_.room_of[static_cast<size_t>(stream)];
  return core_.rooms[static_cast<size_t>(room)].everywhere ? tile_of(rows_width(graph_, stream))
                                                           : coordinate("tile");
}

std::string RowsPlaces::room_name(int room) {
  return fmt::format("p{}", room);
}
std::string RowsPlaces::staged_name(size_t number) {
  return fmt::format("staged{}", number);
}
std::string RowsPlaces::reduced_name(size_t number) {
  return fmt::format("rows{}", number);
}

std::string RowsPlaces::element(StreamId stream) const {
  return fmt::format("ff::get_element<P{}::kElement>(core, {})",
                     core_.room_of[static_cast<size_t>(stream)], place(stream));
}

std::string RowsPlaces::put_element(StreamId stream, const std::string& value) const {
  return fmt::format("ff::put_element<P{}::kElement>(core, {}, {});",
                     core_.room_of[static_cast<size_t>(stream)], place(stream), value);
}

std::string RowsPlaces::place(StreamId stream) const {
  const int room = core_.room_of[static_cast<size_t>(stream)];
  return fmt::format("p{0}_at + ({1}) * P{0}::kBytes + P{0}::at(row, column)", room,
                     text_of(tile_in_room(stream)));
}

std::string RowsPlaces::reduced(size_t number, const std::string& core) const {
  if (cluster_.wide == 1) return fmt::format("{}_at + row * 4", reduced_name(number));
  return fmt::format("{}_at + ({} * {} + row) * 4", reduced_name(number), core, tile_rows());
}

std::vector<std::pair<StreamId, std::string>> RowsPlaces::names(int loop) const {
  std::vector<std::pair<StreamId, std::string>> all;
  const auto producer = [&](StreamId s) { return graph_.streams[static_cast<size_t>(s)].producer; };
  for (StreamId s = 0; s < static_cast<StreamId>(graph_.streams.size()); ++s) {
    const bool there = core_.room_of[static_cast<size_t>(s)] >= 0;
    if (!there || shape_.loop_of[static_cast<size_t>(producer(s))] >= loop) continue;
    all.emplace_back(s, element(s));
  }
  for (size_t i = 0; i < core_.reduced.size(); ++i) {
    const StreamId s = core_.reduced[i];
    const NodeId from = producer(s);
    if (shape_.loop_of[static_cast<size_t>(from)] >= loop) continue;
    const Node& reduce = graph_.nodes[static_cast<size_t>(from)];
    std::string value = fmt::format("ff::get_one(core, {})", reduced(i, "0"));
    for (int other = 1; other < cluster_.wide; ++other) {
      value =
          combined_text(reduce.reduction, value,
                        fmt::format("ff::get_one(core, {})", reduced(i, std::to_string(other))));
    }
    if (reduce.reduction == Reduction::mean) {
      const int width = rows_width(graph_, reduce.inputs[0].stream);
      value =
          fmt::format("({}) / {}.0F", value, graph_.indices[static_cast<size_t>(width)].elements());
    }
    all.emplace_back(s, "(" + value + ")");
  }
  const auto at = static_cast<size_t>(loop);
  if (core_.ways[at] == chip::RowsWay::direct) return all;
  for (size_t i = 0; i < core_.products[at].size(); ++i) {
    const Node& product = graph_.nodes[static_cast<size_t>(core_.products[at][i])];
    all.emplace_back(product.outputs[0],
                     fmt::format("ff::get_one(core, {}_at + ff::sums_at<{}>(row, column))",
                                 staged_name(i), tile_rows()));
  }
  return all;
}

}  // namespace fuseflow::cuda
