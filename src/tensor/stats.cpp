#include "tensor/stats.h"

#include <algorithm>

namespace fuseflow {

namespace {

LevelStats level_statistics(const Storage& storage, size_t l) {
  const Level& level = storage.levels[l];
  LevelStats stats;
  stats.fibers = l == 0 ? 1 : storage.positions(static_cast<int>(l) - 1);
  stats.entries = storage.positions(static_cast<int>(l));
  if (level.kind == LevelKind::dense || level.kind == LevelKind::singleton) {
    const int64_t length = level.kind == LevelKind::dense ? level.extent : 1;
    stats.longest_fiber = stats.fibers > 0 ? length : 0;
    stats.empty_fibers = length == 0 ? stats.fibers : 0;
    return stats;
  }
  for (size_t p = 0; p + 1 < level.pos.size(); ++p) {
    const int64_t length = int64_t{level.pos[p + 1]} - level.pos[p];
    stats.longest_fiber = std::max(stats.longest_fiber, length);
    stats.empty_fibers += length == 0 ? 1 : 0;
  }
  return stats;
}

}  // namespace

TensorStats statistics(const Storage& storage) {
  TensorStats stats;
  for (size_t l = 0; l < storage.levels.size(); ++l) {
    stats.levels.push_back(level_statistics(storage, l));
  }
  if (storage.format.block.empty()) {
    stats.nonfill = std::count_if(storage.values.begin(), storage.values.end(),
                                  [&](float v) { return !same_value(v, storage.fill); });
  } else {
    for_each_stored(storage, [&](std::span<const int64_t>, float v) {
      stats.nonfill += same_value(v, storage.fill) ? 0 : 1;
    });
  }
  stats.density = density_of(stats.nonfill, storage.shape);
  return stats;
}

}  // namespace fuseflow
