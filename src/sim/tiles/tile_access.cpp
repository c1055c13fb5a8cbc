#include "sim/tiles/tile_access.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/error.h"

namespace fuseflow {

void require_dense(const Program& program, const TensorData& data, TensorId tensor) {
  const Storage* storage = data.find(tensor);
  if (storage != nullptr && storage->format.all_dense()) return;
  const Tensor& declared = program.tensors[static_cast<size_t>(tensor)];
  throw Error(ExitCode::rejected, declared.where,
              fmt::format("%{} has no dense data, which tile_load needs", declared.name));
}

TileAccess::TileAccess(const Graph& graph, const Node& node, std::vector<int> dims, int batch,
                       const Format& format, std::vector<int64_t> shape)
    : g_(graph), node_(node), dims_(std::move(dims)), batch_(batch), shape_(std::move(shape)) {
  stride_.assign(shape_.size(), 1);
  int64_t stride = 1;
  for (size_t l = shape_.size(); l-- > 0;) {
    const auto d = static_cast<size_t>(format.mode_order[l]);
    stride_[d] = stride;
    stride *= shape_[d];
  }
}

std::array<TileAccess::Parts, 3> TileAccess::parts_at(std::span<const int64_t> at) {
  base_.clear();
  for (const TileSubscript& subscript : node_.subscripts) base_.push_back(subscript.offset);
  const Parts batch = parts_of(batch_, at[static_cast<size_t>(batch_)], 1);
  for (size_t r = 0; r < base_.size(); ++r) base_[r] += batch.coordinates[r];
  std::array<Parts, 3> parts;
  for (size_t d = 0; d < dims_.size(); ++d) {
    const auto dim = static_cast<size_t>(dims_[d]);
    const int64_t tile = dim < at.size() ? at[dim] : 0;
    parts[d] = parts_of(dims_[d], tile, g_.indices[dim].block);
  }
  for (size_t d = dims_.size(); d < parts.size(); ++d) {
    parts[d].coordinates.assign(shape_.size(), 0);
  }
  return parts;
}

TileAccess::Parts TileAccess::parts_of(int dim, int64_t tile, int64_t block) const {
  const GraphIndex& index = g_.indices[static_cast<size_t>(dim)];
  int first = 0;
  for (int d = 0; d < dim; ++d) {
    first += static_cast<int>(g_.indices[static_cast<size_t>(d)].digits.size());
  }
  Parts parts;
  parts.elements = block;
  parts.present = std::clamp<int64_t>(index.size - tile * block, 0, block);
  parts.coordinates.assign(static_cast<size_t>(block) * shape_.size(), 0);
  const auto digits = static_cast<int>(index.digits.size());
  for (int64_t e = 0; e < parts.present; ++e) {
    int64_t rest = tile * block + e;
    for (int at = digits - 1; at >= 0; --at) {
      const int64_t extent = index.digits[static_cast<size_t>(at)].extent;
      add(first + at, rest % extent, &parts.coordinates[static_cast<size_t>(e) * shape_.size()]);
      rest /= extent;
    }
  }
  return parts;
}

void TileAccess::add(int digit, int64_t value, int64_t* coordinates) const {
  for (size_t r = 0; r < node_.subscripts.size(); ++r) {
    for (const auto& [of, factor] : node_.subscripts[r].terms) {
      if (of == digit) coordinates[r] += factor * value;
    }
  }
}

int64_t TileAccess::coordinate(const std::array<Parts, 3>& parts, const std::array<int64_t, 3>& at,
                               size_t of) const {
  int64_t coordinate = base_[of];
  for (size_t d = 0; d < parts.size(); ++d) {
    coordinate += parts[d].coordinates[static_cast<size_t>(at[d]) * shape_.size() + of];
  }
  return coordinate;
}

int64_t TileAccess::position(const std::array<Parts, 3>& parts,
                             const std::array<int64_t, 3>& at) const {
  for (size_t d = 0; d < parts.size(); ++d) {
    if (at[d] >= parts[d].present) return kPaddedPosition;
  }
  int64_t position = 0;
  for (size_t r = 0; r < shape_.size(); ++r) {
    const int64_t at_r = coordinate(parts, at, r);
    if (at_r < 0 || at_r >= shape_[r]) return kOutsidePosition;
    position += at_r * stride_[r];
  }
  return position;
}

}  // namespace fuseflow
