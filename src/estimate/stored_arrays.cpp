#include "estimate/stored_arrays.h"

#include <cmath>

namespace fuseflow::estimate {

namespace {

constexpr double kWord = 4;  // bytes of a position or coordinate

double value_bytes(const Tensor& tensor) {
  return static_cast<double>(tensor.format.block_volume() * element_bytes(tensor.type));
}

}  // namespace

double StoredArrays::total() const {
  double bytes = values;
  for (const Level& level : levels) bytes += level.positions + level.coordinates;
  return bytes;
}

StoredArrays stored_arrays(const Tensor& tensor, const Storage* storage) {
  StoredArrays arrays;
  arrays.levels.resize(static_cast<size_t>(tensor.format.rank()));
  double elements = 1;
  if (storage == nullptr) {
    for (size_t d = 0; d < tensor.shape.size(); ++d) {
      elements *= static_cast<double>(tensor.format.coordinates(d, tensor.shape[d].value));
    }
  } else {
    if (storage->rank() > 0)
      elements = static_cast<double>(storage->positions(storage->rank() - 1));
    for (size_t l = 0; l < storage->levels.size(); ++l) {
      const Level& level = storage->levels[l];
      arrays.levels[l].positions = kWord * static_cast<double>(level.pos.size());
      arrays.levels[l].coordinates = kWord * static_cast<double>(level.crd.size()) +
                                     8 * static_cast<double>(level.words.size());
    }
  }
  arrays.values = elements * value_bytes(tensor);
  return arrays;
}

StoredArrays stored_arrays(const Tensor& tensor, const TensorStatistics& statistics) {
  StoredArrays arrays;
  arrays.levels.resize(static_cast<size_t>(tensor.format.rank()));
  double elements = 1;
  for (int l = 0; l < tensor.format.rank(); ++l) {
    const auto at = static_cast<size_t>(l);
    const LevelKind kind = tensor.format.levels[at];
    const auto extent = static_cast<double>(tensor.level_extent(l));
    if (kind == LevelKind::dense || statistics.levels.empty()) {
      elements *= extent;
      continue;
    }
    const LevelStatistics& stats = statistics.levels[at];
    arrays.levels[at].coordinates = kind == LevelKind::bitvector
                                        ? 8 * stats.fibers * std::ceil(extent / 64)
                                        : kWord * stats.entries;
    if (kind != LevelKind::singleton) arrays.levels[at].positions = kWord * (stats.fibers + 1);
    elements = stats.entries;
  }
  arrays.values = elements * value_bytes(tensor);
  return arrays;
}

}  // namespace fuseflow::estimate
