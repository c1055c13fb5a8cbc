#include "sim/tiles/tile_access.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/tiles.h"
#include "support/error.h"

namespace fuseflow {
namespace {

/// Less than any sum of positions: three of them are still less than 0.
constexpr int64_t kOutsidePart = INT64_MIN / 4;

}  // namespace

void require_dense(const Program& program, const TensorData& data, TensorId tensor) {
  const Storage* storage = data.find(tensor);
  if (storage != nullptr && storage->format.all_dense()) return;
  const Tensor& declared = program.tensors[tensor];
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
  find_owners();
}

std::vector<int64_t> TileAccess::base_of(std::span<const int64_t> at) const {
  std::vector<int64_t> base;
  base.reserve(node_.tile.subscripts.size());
  for (const TileSubscript& subscript : node_.tile.subscripts) base.push_back(subscript.offset);
  if (batch_ < 0) return base;
  const Parts batch = parts_of(batch_, at[batch_], 1);
  for (size_t r = 0; r < base.size(); ++r) base[r] += batch.coordinates[r];
  return base;
}

TileAccess::AllParts TileAccess::parts_at(std::span<const int64_t> at) const {
  AllParts parts;
  parts.base = base_of(at);
  for (size_t d = 0; d < parts.along.size(); ++d) {
    if (d < dims_.size()) {
      const auto dim = static_cast<size_t>(dims_[d]);
      const int64_t block = g_.indices[dim].block;
      parts.along[d] = parts_of(dims_[d], dim < at.size() ? at[dim] * block : 0, block);
    } else {
      parts.along[d].coordinates.assign(shape_.size(), 0);
    }
    if (!coupled_) add_positions(d, parts.base, parts.along[d]);
  }
  return parts;
}

TileAccess::Parts TileAccess::parts_of(int dim, int64_t first_element, int64_t count) const {
  const GraphIndex& index = g_.indices[dim];
  const int first = first_digit(g_, dim);
  Parts parts;
  parts.elements = count;
  parts.present = std::clamp<int64_t>(index.size - first_element, 0, count);
  parts.coordinates.assign(static_cast<size_t>(count) * shape_.size(), 0);
  const auto digits = static_cast<int>(index.tiling.digits.size());
  for (int64_t e = 0; e < parts.present; ++e) {
    int64_t* const of_element = parts.coordinates.data() + static_cast<size_t>(e) * shape_.size();
    int64_t rest = first_element + e;
    for (int at = digits - 1; at >= 0; --at) {
      const int64_t extent = index.tiling.digits[at].extent;
      add(first + at, rest % extent, of_element);
      rest /= extent;
    }
  }
  return parts;
}

void TileAccess::add(int digit, int64_t value, int64_t* coordinates) const {
  for (size_t r = 0; r < node_.tile.subscripts.size(); ++r) {
    for (const auto& [of, factor] : node_.tile.subscripts[r].terms) {
      if (of == digit) coordinates[r] += factor * value;
    }
  }
}

void TileAccess::find_owners() {
  owner_.assign(shape_.size(), 0);
  for (size_t r = 0; r < shape_.size(); ++r) {
    bool owned = false;
    for (size_t d = 0; d < dims_.size(); ++d) {
      const int first = first_digit(g_, dims_[d]), end = first_digit(g_, dims_[d] + 1);
      const auto& terms = node_.tile.subscripts[r].terms;
      if (std::none_of(terms.begin(), terms.end(),
                       [&](const auto& term) { return term.first >= first && term.first < end; })) {
        continue;
      }
      coupled_ = coupled_ || owned;
      owned = true;
      owner_[r] = d;
    }
  }
}

void TileAccess::add_positions(size_t dim, const std::vector<int64_t>& base, Parts& parts) const {
  parts.positions.assign(static_cast<size_t>(parts.elements), 0);
  for (size_t e = 0; e < parts.positions.size(); ++e) {
    for (size_t r = 0; r < shape_.size(); ++r) {
      if (owner_[r] != dim) continue;
      const int64_t at = base[r] + parts.coordinates[e * shape_.size() + r];
      if (at < 0 || at >= shape_[r]) {
        parts.positions[e] = kOutsidePart;
        break;
      }
      parts.positions[e] += at * stride_[r];
    }
  }
}

int64_t TileAccess::coordinate(const AllParts& parts, const Element& at, size_t of) {
  int64_t coordinate = parts.base[of];
  for (size_t d = 0; d < at.size(); ++d) {
    const std::vector<int64_t>& coordinates = parts.along[d].coordinates;
    coordinate += coordinates[static_cast<size_t>(at[d]) * parts.base.size() + of];
  }
  return coordinate;
}

int64_t TileAccess::coupled_position(const AllParts& parts, const Element& at) const {
  int64_t position = 0;
  for (size_t r = 0; r < shape_.size(); ++r) {
    const int64_t at_r = coordinate(parts, at, r);
    if (at_r < 0 || at_r >= shape_[r]) return kOutsidePosition;
    position += at_r * stride_[r];
  }
  return position;
}

}  // namespace fuseflow
