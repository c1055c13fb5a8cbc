#include "sim/tiles/rows_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "graph/tile_kernel.h"
#include "graph/tile_rows.h"
#include "sim/common/written_tensors.h"
#include "sim/tiles/tile_access.h"
#include "support/error.h"

namespace fuseflow {
namespace {

using Tile = std::vector<float>;  ///< row-major in the order of its stream's dimensions

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
        if (loop.width >= 0) at_[static_cast<size_t>(loop.width)] = t;
        for (const NodeId n : loop.nodes) compute(node(n), t == 0);
      }
      for (const NodeId n : loop.nodes) finish(node(n));
    }
  }

  /// The tile of what a store takes, at a tile of its width.
  const Tile& stored(const Node& store, int64_t tile) {
    const int width = rows_width(g_, store.inputs[0].stream);
    if (width >= 0) at_[static_cast<size_t>(width)] = tile;
    return value(store.inputs[0].stream);
  }
  const std::vector<int64_t>& at() const { return at_; }

 private:
  const Node& node(NodeId n) const { return g_.nodes[static_cast<size_t>(n)]; }
  const GraphIndex& index(int dim) const { return g_.indices[static_cast<size_t>(dim)]; }
  const std::vector<int>& dims_of(StreamId s) const {
    return g_.streams[static_cast<size_t>(s)].block;
  }
  size_t block(int dim) const { return static_cast<size_t>(index(dim).block); }

  /// Where a stream's tile is among those that are there.
  int64_t number(StreamId s) const {
    int64_t number = 0;
    for (const int dim : dims_of(s)) {
      if (dim != kRowsM) number = number * index(dim).extent + at_[static_cast<size_t>(dim)];
    }
    return number;
  }
  Tile& value(StreamId s) {
    Tile& tile = values_[static_cast<size_t>(s)][number(s)];
    const Node& from = node(g_.streams[static_cast<size_t>(s)].producer);
    if (from.kind == NodeKind::tile_load && tile.empty()) load(from, tile);
    return tile;
  }

  /// Tiles of a load that differ from rows to rows are those of the rows before.
  void forget(NodeId n) {
    const std::vector<bool> varies = rows_varies_along(g_, node(n));
    if (varies[kRowsM] || varies[kRowsG]) values_[static_cast<size_t>(node(n).outputs[0])].clear();
  }

  void load(const Node& from, Tile& out) const {
    const Storage& storage = *data_.find(from.tensor);
    TileAccess access(g_, from, dims_of(from.outputs[0]), kRowsG, storage.format, storage.shape);
    access.for_each(at_, [&](int64_t position) {
      out.push_back(position >= 0                  ? storage.values[static_cast<size_t>(position)]
                    : position == kOutsidePosition ? storage.fill
                                                   : 0.0F);
    });
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

  /// Elements of a stream's tile from one to the next along a dimension; 0: it has none of it.
  int stride_along(StreamId s, int dim) const {
    const std::vector<int>& dims = dims_of(s);
    int stride = 1;
    for (size_t d = dims.size(); d-- > 0;) {
      if (dims[d] == dim) return stride;
      stride *= static_cast<int>(block(dims[d]));
    }
    return 0;
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
      strides.push_back(tile && dims.size() > 1 ? stride_along(input.stream, dims[1]) : 0);
      down.push_back(tile ? static_cast<size_t>(stride_along(input.stream, kRowsM)) : 0);
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
    const int64_t before = at_[static_cast<size_t>(width)] * size;
    return static_cast<size_t>(std::clamp<int64_t>(index(width).elements() - before, 0, size));
  }

  void multiply(const Node& at) {
    const int summed = rows_width(g_, at.inputs[0].stream);
    const size_t rows = block(kRowsM), inner = block(summed);
    const size_t columns = block(rows_width(g_, at.outputs[0]));
    Tile out(rows * columns, 0.0F);
    for (int64_t t = 0; t < index(summed).extent; ++t) {
      at_[static_cast<size_t>(summed)] = t;
      const Tile& left = value(at.inputs[0].stream);
      const Tile& right = value(at.inputs[1].stream);
      const size_t depth = present(summed);
      for (size_t i = 0; i < rows; ++i) {
        for (size_t k = 0; k < depth; ++k) {
          const float x = left[i * inner + k];
          const float* from = right.data() + k * columns;
          for (size_t j = 0; j < columns; ++j) out[i * columns + j] += x * from[j];
        }
      }
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
    const auto elements = static_cast<float>(index(rows_width(g_, at.inputs[0].stream)).elements());
    for (float& sum : value(at.outputs[0])) sum /= elements;
  }

  const Program& program_;
  const Graph& g_;
  const RowsShape& shape_;
  const TensorData& data_;
  std::vector<int64_t> at_;
  std::vector<std::map<int64_t, Tile>> values_;  ///< by stream and tile beside m
};

/// One result, as it is filled.
class Result {
 public:
  Result(const Program& program, const Graph& graph, const Node& store)
      : store_(store),
        tensor_(program.tensors[static_cast<size_t>(store.tensor)]),
        width_(rows_width(graph, store.inputs[0].stream)),
        tiles_(width_ < 0 ? 1 : graph.indices[static_cast<size_t>(width_)].extent),
        to_(graph, store, graph.streams[static_cast<size_t>(store.inputs[0].stream)].block, kRowsG,
            tensor_.format, known_shape(tensor_)) {
    const std::vector<int64_t> shape = known_shape(tensor_);
    int64_t elements = graph.indices[kRowsM].elements() * graph.indices[kRowsG].elements();
    const int64_t wide = width_ < 0 ? 1 : graph.indices[static_cast<size_t>(width_)].elements();
    const bool large = __builtin_mul_overflow(elements, wide, &elements);
    if (large || elements > kMaxStored || elements != element_count(shape)) {
      throw Error(ExitCode::rejected, tensor_.where,
                  fmt::format("%{} does not have the {} x {} x {} elements that the tiles give",
                              tensor_.name, graph.indices[kRowsG].elements(),
                              graph.indices[kRowsM].elements(), wide));
    }
    written_.tensor = store.tensor;
    written_.pos.resize(shape.size());
    written_.crd.resize(shape.size());
    written_.values.assign(static_cast<size_t>(elements), 0.0F);
  }

  void take(RowsValues& values) {
    for (int64_t t = 0; t < tiles_; ++t) {
      const float* next = values.stored(store_, t).data();
      to_.for_each(values.at(), [&](int64_t position) {
        if (position == kOutsidePosition) {
          throw Error(ExitCode::rejected, tensor_.where,
                      fmt::format("tile_store writes outside of %{}", tensor_.name));
        }
        if (position >= 0) written_.values[static_cast<size_t>(position)] = *next;
        ++next;
      });
    }
  }

  std::shared_ptr<const Storage> done(const Program& program) {
    return assemble_result(program, std::move(written_));
  }
  TensorId tensor() const { return store_.tensor; }

 private:
  const Node& store_;
  const Tensor& tensor_;
  const int width_;
  const int64_t tiles_;
  TileAccess to_;
  WrittenTensor written_;
};

void check_stores(const Program& program, const Graph& graph, const RowsShape& shape) {
  std::set<TensorId> stored;
  for (const NodeId n : shape.stores) {
    const TensorId tensor = graph.nodes[static_cast<size_t>(n)].tensor;
    if (stored.insert(tensor).second) continue;
    const Tensor& twice = program.tensors[static_cast<size_t>(tensor)];
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
  std::vector<Result> results;
  results.reserve(shape.stores.size());
  for (const NodeId n : shape.stores) {
    results.emplace_back(program, graph, graph.nodes[static_cast<size_t>(n)]);
  }
  for (int64_t tile = 0; tile < rows_tiles(graph); ++tile) {
    if (!go_on()) return {};
    values.rows(tile);
    for (Result& result : results) result.take(values);
  }
  std::vector<std::pair<TensorId, std::shared_ptr<const Storage>>> stored;
  stored.reserve(results.size());
  for (Result& result : results) stored.emplace_back(result.tensor(), result.done(program));
  std::sort(stored.begin(), stored.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return stored;
}

}  // namespace fuseflow
