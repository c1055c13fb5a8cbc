// How many elements a tensor has, stored or not.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ir/program.h"

namespace fuseflow {

/// The product of its extents; 0 where one is not known yet.
inline double elements_of(const Tensor& tensor) {
  double count = 1;
  for (const Extent& extent : tensor.shape) {
    count *= static_cast<double>(std::max<int64_t>(extent.value, 0));
  }
  return count;
}

}  // namespace fuseflow
