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
class RowsValues {
 public:
  RowsValues(const Program& program, const Graph& graph, const RowsShape& shape,
             const TensorData& data)
      : program_(program), g_(graph), shape_(shape), data_(data), at_(graph.indices.size(), 0) {
    values_.resize(graph.streams.size());
    for (const NodeId n : shape.loads) require_dense(program_, data_, node(n).tensor);
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
      for (const NodeId n : loop.nodes) finish(node(n));
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
  const Node& node(NodeId n) const { return g_.nodes[n]; }
  const GraphIndex& index(int dim) const { return g_.indices[dim]; }
  const std::vector<int>& dims_of(StreamId s) const { return g_.streams[s].block; }
  size_t block(int dim) const { return static_cast<size_t>(index(dim).block); }

  /// Where a stream's tile is among those that are there.
  int64_t number(StreamId s) const {
    int64_t number = 0;
    for (const int dim : dims_of(s)) {
      if (dim != kRowsM) number = number * index(dim).extent + at_[dim];
    }
    return number;
  }
  Tile& value(StreamId s) {
    Tile& tile = values_[s][number(s)];
    const Node& from = node(g_.streams[s].producer);
    if (from.kind == NodeKind::tile_load && tile.empty()) {
      load_tile(g_, from, *data_.find(from.tensor), kRowsG, at_, tile);
    }
    return tile;
  }

  /// Tiles of a load that differ from rows to rows are those of the rows before.
  void forget(NodeId n) {
    const std::vector<bool> varies = rows_varies_along(g_, node(n));
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

  void map(const Node& at) {
    const std::vector<int>& dims = dims_of(at.outputs[0]);
    const size_t rows = block(kRowsM), columns = dims.size() > 1 ? block(dims[1]) : 1;
    Tile out(rows * columns);
    std::vector<const float*> from;
    std::vector<int> strides;
    std::vector<size_t> down;  // from a row to the next
    for (const Input& input : at.inputs) {
      const bool tile = !input.is_immediate();
      from.push_back(tile ? value(input.stream).data() : &input.immediate);
      strides.push_back(tile && dims.size() > 1 ? stride_along(g_, input.stream, dims[1]) : 0);
      down.push_back(tile ? static_cast<size_t>(stride_along(g_, input.stream, kRowsM)) : 0);
    }
    for (size_t i = 0; i < rows; ++i) {
      evaluate_many(at.op, from, strides, out.data() + i * columns, static_cast<int64_t>(columns));
      for (size_t x = 0; x < from.size(); ++x) from[x] += down[x];
    }
    value(at.outputs[0]) = std::move(out);
  }

  /// Elements of the tile at hand along a width.
  size_t present(int width) const {
    const auto size = static_cast<int64_t>(block(width));
    const int64_t before = at_[width] * size;
    return static_cast<size_t>(std::clamp<int64_t>(index(width).elements() - before, 0, size));
  }

  void multiply(const Node& at) {
    const int summed = rows_width(g_, at.inputs[0].stream);
    const size_t rows = block(kRowsM), inner = block(summed);
    const size_t columns = block(rows_width(g_, at.outputs[0]));
    Tile out(rows * columns, 0.0F);
    for (int64_t t = 0; t < index(summed).extent; ++t) {
      at_[summed] = t;
      const Tile& left = value(at.inputs[0].stream);
      const Tile& right = value(at.inputs[1].stream);
      add_product(left.data(), right.data(), out.data(), {rows, present(summed), columns, inner});
    }
    value(at.outputs[0]) = std::move(out);
  }

  void reduce(const Node& at, bool first) {
    const int width = rows_width(g_, at.inputs[0].stream);
    const Tile& from = value(at.inputs[0].stream);
    Tile& out = value(at.outputs[0]);
    if (first) out.assign(block(kRowsM), at.init);
    const size_t depth = present(width), columns = block(width);
    for (size_t i = 0; i < out.size(); ++i) {
      for (size_t k = 0; k < depth; ++k) {
        out[i] = combine(at.reduction, out[i], from[i * columns + k]);
      }
    }
  }

  void finish(const Node& at) {
    if (at.kind != NodeKind::reduce || at.reduction != Reduction::mean) return;
    divide_by(value(at.outputs[0]), index(rows_width(g_, at.inputs[0].stream)).elements());
  }

  const Program& program_;
  const Graph& g_;
  const RowsShape& shape_;
  const TensorData& data_;
  std::vector<int64_t> at_;
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
      const float* next = values.stored(store_, t).data();
      to_.for_each(values.at(), [&](int64_t position) { result_.put(position, *next++); });
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
