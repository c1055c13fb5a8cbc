#include "graph/spaces.h"

namespace fuseflow {

int64_t GraphTensor::level_extent(int l) const {
  const int dimension = format.mode_order[l];
  return format.coordinates(static_cast<size_t>(dimension), shape[dimension]);
}

}  // namespace fuseflow
