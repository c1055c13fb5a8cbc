// Statistics of a stored tensor: what estimates and inspection print.
#pragma once

#include <vector>

#include "tensor/storage.h"

namespace fuseflow {

struct LevelStats {
  int64_t fibers = 0;         ///< parent positions
  int64_t entries = 0;        ///< positions of this level
  int64_t longest_fiber = 0;  ///< entries of the longest fiber
  int64_t empty_fibers = 0;
};

struct TensorStats {
  std::vector<LevelStats> levels;
  int64_t nonfill = 0;  ///< stored values within the shape that differ from the fill
  double density = 0;   ///< nonfill / elements; 1 for a tensor without elements
};

/// One pass over the storage.
TensorStats statistics(const Storage& storage);

}  // namespace fuseflow
