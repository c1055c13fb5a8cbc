#include "estimate/stored_arrays.h"

#include <cmath>

namespace fuseflow::estimate {

namespace {

constexpr double kWord = 4;  // bytes of a position or coordinate

}  // namespace

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
                                        ? 8 * stats.fibers * std::ceil(extent / kLevelWordBits)
                                        : kWord * stats.entries;
    if (kind != LevelKind::singleton) arrays.levels[at].positions = kWord * (stats.fibers + 1);
    elements = stats.entries;
  }
  arrays.values = elements * stored_value_bytes(tensor);
  return arrays;
}

}  // namespace fuseflow::estimate
