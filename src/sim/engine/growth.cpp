#include "sim/engine/growth.h"

namespace fuseflow::engine {

int64_t level_extent(const Tensor& tensor, size_t level) {
  const auto dimension = static_cast<size_t>(tensor.format.mode_order[level]);
  const int64_t block = tensor.format.block.empty() ? 1 : tensor.format.block[dimension];
  return (tensor.shape[dimension].value + block - 1) / block;
}

Growth::Growth(const Tensor& tensor, size_t level)
    : volume_(static_cast<size_t>(tensor.format.block_volume())) {
  const std::vector<LevelKind>& levels = tensor.format.levels;
  const bool values = level == levels.size();
  by_fiber_ = !values || (level > 0 && levels[level - 1] != LevelKind::dense);
  const size_t above = values && by_fiber_ ? level - 1 : level;
  for (size_t l = 0; l < above; ++l) {
    const bool known = levels[l] == LevelKind::dense &&
                       !__builtin_mul_overflow(parts_, level_extent(tensor, l), &parts_);
    if (!known) {
      parts_ = 0;
      return;
    }
  }
}

}  // namespace fuseflow::engine
