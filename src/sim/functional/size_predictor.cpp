#include "sim/functional/size_predictor.h"

namespace fuseflow::engine {

SizePredictor::SizePredictor(const Tensor& tensor, size_t level)
    : volume_(static_cast<size_t>(tensor.format.block_volume())) {
  const std::vector<LevelKind>& levels = tensor.format.levels;
  const bool values = level == levels.size();
  by_fiber_ = !values || (level > 0 && levels[level - 1] != LevelKind::dense);
  const size_t above = values && by_fiber_ ? level - 1 : level;
  for (size_t l = 0; l < above; ++l) {
    const bool known = levels[l] == LevelKind::dense &&
                       !__builtin_mul_overflow(parts_, tensor.level_extent(l), &parts_);
    if (!known) {
      parts_ = 0;
      return;
    }
  }
}

}  // namespace fuseflow::engine
