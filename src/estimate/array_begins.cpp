#include "estimate/array_begins.h"

#include <algorithm>
#include <cmath>

#include "nodes/rule.h"
#include "sim/memory/addresses.h"

namespace fuseflow::estimate {

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
      for (const uint64_t bytes : engine::most_room_of(tensors[t])) {
        place(static_cast<double>(bytes), begins_[t]);
      }
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

}  // namespace fuseflow::estimate
