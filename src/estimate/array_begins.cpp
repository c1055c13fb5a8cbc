#include "estimate/array_begins.h"

#include <algorithm>
#include <cmath>

#include "nodes/rule.h"

namespace fuseflow::estimate {

namespace {

constexpr double kListed = 4;  // bytes of a position or coordinate

}  // namespace

ArrayBegins::ArrayBegins(const Structure& structure, const std::vector<StoredArrays>& arrays) {
  const std::vector<Tensor>& tensors = structure.program->tensors;
  std::vector<bool> used(tensors.size(), false);
  std::vector<bool> written(tensors.size(), false);
  for (const Node& node : structure.graph->nodes) {
    for_tensors(node, [&](TensorId tensor) { used[static_cast<size_t>(tensor)] = true; });
    if (node.tensor >= 0 && writes_tensor(node.kind)) {
      written[static_cast<size_t>(node.tensor)] = true;
    }
  }
  begins_.resize(tensors.size());
  for (size_t t = 0; t < tensors.size(); ++t) {
    if (!used[t]) continue;
    if (written[t]) {
      place_result(tensors[t], begins_[t]);
      continue;
    }
    for (const StoredArrays::Level& level : arrays[t].levels) {
      place(level.positions, begins_[t]);
      place(level.coordinates, begins_[t]);
    }
    place(arrays[t].values, begins_[t]);
  }
}

void ArrayBegins::place(double bytes, std::vector<double>& begins) {
  constexpr double kMost = 0x1p40;  // bytes that are kept free for an array
  begins.push_back(next_);
  next_ = std::ceil((next_ + std::min(bytes, kMost)) / kArrayAlignment) * kArrayAlignment;
}

/// The largest space that it can need.
void ArrayBegins::place_result(const Tensor& tensor, std::vector<double>& begins) {
  double fibers = 1;
  for (int l = 0; l < tensor.format.rank(); ++l) {
    const LevelKind kind = tensor.format.levels[static_cast<size_t>(l)];
    const auto extent = static_cast<double>(tensor.level_extent(l));
    const bool listed = kind == LevelKind::compressed || kind == LevelKind::bitvector;
    place(listed ? kListed * (fibers + 1) : 0, begins);
    double coordinates = 0;
    if (kind == LevelKind::compressed) coordinates = kListed * fibers * extent;
    if (kind == LevelKind::singleton) coordinates = kListed * fibers;
    if (kind == LevelKind::bitvector) coordinates = 8 * fibers * std::ceil(extent / kLevelWordBits);
    place(coordinates, begins);
    if (kind != LevelKind::singleton) fibers *= extent;
  }
  place(fibers * stored_value_bytes(tensor), begins);
}

}  // namespace fuseflow::estimate
