#include "sim/tiles/rows_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "graph/tile_kernel.h"
#include "graph/tile_rows.h"
#include "sim/tiles/tile_math.h"
#include "support/error.h"

namespace fuseflow {
namespace {

/// Computes one tile of rows after the other, whole widths at a time.
class RowsValues : private KernelTiles {
 public:
  RowsValues(const Program& program, const Graph& graph, const RowsShape& shape,
             const TensorData& data)
      : KernelTiles(graph), shape_(shape), data_(data) {
    values_.resize(graph.streams.size());
    for (const NodeId n : shape.loads) require_dense(program, data_, node(n).tensor);
  }

  void rows(int64_t tile) {
    at_[kRowsM] = tile % g_.indices[kRowsM].extent;
    at_[kRowsG] = tile / g_.indices[kRowsM].extent;
    for (const NodeId n : shape_.loads) forget(n);
    for (const RowsLoop& loop : shape_.loops) {
      const int64_t tiles = loop.width < 0 ? 1 : index(loop.width).extent;
      for (int64_t t = 0; t < tiles; ++t) {
        if (loop.width >= 0) at_[loop.width] = t;
        for (const NodeId n : loop.nodes) compute(node(n), t == 0);
      }
      for (const NodeId n : loop.nodes) {
        if (loop.width >= 0) finish(node(n), loop.width);
      }
    }
  }

  /// The tile of what a store takes, at a tile of its width.
  const Tile& stored(const Node& store, int64_t tile) {
    const int width = rows_width(g_, store.inputs[0].stream);
    if (width >= 0) at_[width] = tile;
    return value(store.inputs[0].stream);
  }
  const std::vector<int64_t>& at() const { return at_; }

 private:
  /// Where a stream's tile is among those that are there.
  int64_t number(StreamId s) const {
    int64_t number = 0;
    for (const int dim : dims_of(s)) {
      if (dim != kRowsM) number = number * index(dim).extent + at_[dim];
    }
    return number;
  }
  Tile& value(StreamId s) override {
    Tile& tile = values_[s][number(s)];
    const Node& from = node(g_.streams[s].producer);
    if (from.kind == NodeKind::tile_load && tile.empty()) {
      load_tile(g_, from, *data_.find(from.tensor), kRowsG, at_, tile);
    }
    return tile;
  }

  /// Tiles of a load that differ from rows to rows are those of the rows before.
  void forget(NodeId n) {
    const std::vector<bool> varies = varies_along(g_, node(n));
    if (varies[kRowsM] || varies[kRowsG]) values_[node(n).outputs[0]].clear();
  }

  void compute(const Node& at, bool first) {
    switch (at.kind) {
      case NodeKind::map:
        return map(at);
      case NodeKind::tile_multiply:
        return multiply(at);
      case NodeKind::reduce:
        return reduce(at, first);
      case NodeKind::gather:
        value(at.outputs[0]) = value(at.inputs[0].stream);
        return;
      default:
        return;
    }
  }

  void multiply(const Node& at) {
    const int summed = rows_width(g_, at.inputs[0].stream);
    Tile out(block(kRowsM) * block(rows_width(g_, at.outputs[0])), 0.0F);
    for (int64_t t = 0; t < index(summed).extent; ++t) {
      at_[summed] = t;
      multiply_add(at, summed, out);
    }
    value(at.outputs[0]) = std::move(out);
  }

  void reduce(const Node& at, bool first) {
    Tile& out = value(at.outputs[0]);
    if (first) out.assign(block(kRowsM), at.init);
    reduce_rows(at, rows_width(g_, at.inputs[0].stream), out);
  }

  const RowsShape& shape_;
  const TensorData& data_;
  std::vector<std::map<int64_t, Tile>> values_;  ///< by stream and tile beside m
};

/// What a store gives, tile after tile.
class Stored {
 public:
  Stored(const Program& program, const Graph& graph, const Node& store)
      : store_(store),
        width_(rows_width(graph, store.inputs[0].stream)),
        tiles_(width_ < 0 ? 1 : graph.indices[width_].extent),
        result_(program, store.tensor,
                {graph.indices[kRowsG].elements(), graph.indices[kRowsM].elements(),
                 width_ < 0 ? 1 : graph.indices[width_].elements()}),
        to_(graph, store, graph.streams[store.inputs[0].stream].block, kRowsG,
            result_.tensor().format, result_.shape()) {}

  void take(RowsValues& values) {
    for (int64_t t = 0; t < tiles_; ++t) {
      const Tile& tile = values.stored(store_, t);  // moves on `at`
      result_.put(to_, values.at(), tile);
    }
  }

  TileResult& result() { return result_; }

 private:
  const Node& store_;
  const int width_;
  const int64_t tiles_;
  TileResult result_;
  TileAccess to_;
};

void check_stores(const Program& program, const Graph& graph, const RowsShape& shape) {
  std::set<TensorId> stored;
  for (const NodeId n : shape.stores) {
    const TensorId tensor = graph.nodes[n].tensor;
    if (stored.insert(tensor).second) continue;
    const Tensor& twice = program.tensors[tensor];
    throw Error(ExitCode::rejected, twice.where,
                fmt::format("%{} is stored by two tile_store, expected one", twice.name));
  }
}

}  // namespace

std::vector<std::pair<TensorId, std::shared_ptr<const Storage>>> rows_values(
    const Program& program, const Graph& graph, const TensorData& data,
    const std::function<bool()>& go_on) {
  const RowsShape shape = rows_shape(graph);
  check_stores(program, graph, shape);
  RowsValues values(program, graph, shape, data);
  std::vector<Stored> results;
  results.reserve(shape.stores.size());
  for (const NodeId n : shape.stores) {
    results.emplace_back(program, graph, graph.nodes[n]);
  }
  for (int64_t tile = 0; tile < rows_tiles(graph); ++tile) {
    if (!go_on()) return {};
    values.rows(tile);
    for (Stored& result : results) result.take(values);
  }
  std::vector<std::pair<TensorId, std::shared_ptr<const Storage>>> stored;
  stored.reserve(results.size());
  for (Stored& store : results) {
    stored.emplace_back(store.result().id(), store.result().done(program));
  }
  std::sort(stored.begin(), stored.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return stored;
}

}  // namespace fuseflow
