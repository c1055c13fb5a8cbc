#include "sim/common/stored_arrays.h"

namespace fuseflow {

namespace {

constexpr double kWord = 4;  // bytes of a position or coordinate

}  // namespace

double stored_value_bytes(const Tensor& tensor) {
  return static_cast<double>(tensor.format.block_volume() * element_bytes(tensor.type));
}

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
  arrays.values = elements * stored_value_bytes(tensor);
  return arrays;
}

}  // namespace fuseflow
