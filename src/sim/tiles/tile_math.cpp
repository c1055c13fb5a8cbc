#include "sim/tiles/tile_math.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/error.h"

namespace fuseflow {

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

void divide_by(Tile& sums, int64_t elements) {
  for (float& sum : sums) sum /= static_cast<float>(elements);
}

int stride_along(const Graph& graph, StreamId stream, int dim) {
  const std::vector<int>& dims = graph.streams[stream].block;
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    if (dims[d] == dim) return static_cast<int>(stride);
    stride *= graph.indices[dims[d]].block;
  }
  return 0;
}

float element_at(const Storage& storage, int64_t position) {
  if (position >= 0) return storage.values[position];
  return position == kOutsidePosition ? storage.fill : 0.0F;
}

void load_tile(const Graph& graph, const Node& load, const Storage& storage, int batch,
               std::span<const int64_t> at, Tile& out) {
  const std::vector<int>& dims = graph.streams[load.outputs[0]].block;
  TileAccess access(graph, load, dims, batch, storage.format, storage.shape);
  access.for_each(at, [&](int64_t position) { out.push_back(element_at(storage, position)); });
}

TileResult::TileResult(const Program& program, TensorId tensor, const std::vector<int64_t>& sizes)
    : tensor_(program.tensors[tensor]), shape_(known_shape(tensor_)) {
  int64_t elements = 1;
  bool large = false;
  for (const int64_t size : sizes) {
    large = large || __builtin_mul_overflow(elements, size, &elements);
  }
  if (large || elements > kMaxStored || elements != element_count(shape_)) {
    throw Error(ExitCode::rejected, tensor_.where,
                fmt::format("%{} does not have the {} elements that the tiles give", tensor_.name,
                            fmt::join(sizes, " x ")));
  }
  written_.tensor = tensor;
  written_.pos.resize(shape_.size());
  written_.crd.resize(shape_.size());
  written_.values.assign(static_cast<size_t>(elements), 0.0F);
}

void TileResult::refuse_outside() const {
  throw Error(ExitCode::rejected, tensor_.where,
              fmt::format("tile_store writes outside of %{}", tensor_.name));
}

}  // namespace fuseflow
