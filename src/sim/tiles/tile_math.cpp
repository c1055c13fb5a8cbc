#include "sim/tiles/tile_math.h"

#include <algorithm>
#include <array>

namespace fuseflow {

namespace {

/// Rows, what is summed, and columns of a product of tiles.
struct ProductSizes {
  size_t rows, depth, columns;
  size_t inner;  ///< elements of a row of the left tile, of which `depth` exist
};

/// out[rows x columns] += left[rows x depth] * right[depth x columns], in the order of the depth.
void add_product(const float* __restrict left, const float* __restrict right, float* __restrict out,
                 const ProductSizes& sizes) {
  const auto [rows, depth, columns, inner] = sizes;
  for (size_t i = 0; i < rows; ++i) {
    for (size_t k = 0; k < depth; ++k) {
      const float x = left[i * inner + k];
      for (size_t j = 0; j < columns; ++j) out[i * columns + j] += x * right[k * columns + j];
    }
  }
}

/// Elements of a stream's tile from one to the next along a dimension; 0: it has none of it.
int stride_along(const Graph& graph, StreamId stream, int dim) {
  const std::vector<int>& dims = graph.streams[stream].block;
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    if (dims[d] == dim) return static_cast<int>(stride);
    stride *= graph.indices[dims[d]].block;
  }
  return 0;
}

}  // namespace

float element_at(const Storage& storage, int64_t position) {
  if (position >= 0) return storage.values[position];
  return position == kOutsidePosition ? storage.fill : 0.0F;
}

size_t TileNodes::present(int dim) const {
  const int64_t size = index(dim).block, before = at_[static_cast<size_t>(dim)] * size;
  return static_cast<size_t>(std::clamp<int64_t>(index(dim).elements() - before, 0, size));
}

void TileNodes::map(const Node& at) {
  const std::vector<int>& dims = dims_of(at.outputs[0]);
  std::array<int, 3> over{-1, -1, -1};  // the innermost is last
  std::copy_backward(dims.begin(), dims.end(), over.end());
  const auto extent = [&](size_t d) { return over[d] < 0 ? size_t{1} : block(over[d]); };
  Tile out(extent(0) * extent(1) * extent(2));
  std::vector<const float*> first(at.inputs.size()), from(at.inputs.size());
  std::vector<std::array<int, 3>> along(at.inputs.size(), {0, 0, 0});
  std::vector<int> strides(at.inputs.size());
  for (size_t x = 0; x < at.inputs.size(); ++x) {
    const Input& input = at.inputs[x];
    first[x] = input.is_immediate() ? &input.immediate : value(input.stream).data();
    for (size_t d = 0; d < over.size() && !input.is_immediate(); ++d) {
      along[x][d] = over[d] < 0 ? 0 : stride_along(g_, input.stream, over[d]);
    }
    strides[x] = along[x][2];
  }
  for (size_t i = 0; i < extent(0); ++i) {
    for (size_t j = 0; j < extent(1); ++j) {
      for (size_t x = 0; x < from.size(); ++x) {
        from[x] =
            first[x] + i * static_cast<size_t>(along[x][0]) + j * static_cast<size_t>(along[x][1]);
      }
      evaluate_many(at.op, from, strides, out.data() + (i * extent(1) + j) * extent(2),
                    static_cast<int64_t>(extent(2)));
    }
  }
  value(at.outputs[0]) = std::move(out);
}

void TileNodes::multiply_add(const Node& at, int summed, Tile& out) {
  const Tile& left = value(at.inputs[0].stream);
  const Tile& right = value(at.inputs[1].stream);
  const size_t rows = block(dims_of(at.outputs[0]).front());
  add_product(left.data(), right.data(), out.data(),
              {rows, present(summed), out.size() / rows, block(summed)});
}

void TileNodes::reduce_rows(const Node& at, int summed, Tile& out) {
  const Tile& from = value(at.inputs[0].stream);
  const size_t depth = present(summed), columns = block(summed);
  for (size_t i = 0; i < out.size(); ++i) {
    for (size_t k = 0; k < depth; ++k) {
      out[i] = combine(at.reduction, out[i], from[i * columns + k]);
    }
  }
}

void TileNodes::finish(const Node& at, int summed) {
  if (at.kind != NodeKind::reduce || at.reduction != Reduction::mean) return;
  for (float& sum : value(at.outputs[0])) sum /= static_cast<float>(index(summed).elements());
}

}  // namespace fuseflow
