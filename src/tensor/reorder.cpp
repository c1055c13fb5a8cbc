#include "tensor/reorder.h"

#include <algorithm>

namespace fuseflow {

std::vector<int64_t> row_major_strides(std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return strides;
  for (size_t d = shape.size(); d-- > 1;) {
    strides[d - 1] = strides[d] * shape[d];
  }
  return strides;
}

template <typename T>
std::vector<T> reordered(std::span<const T> values, std::span<const int64_t> shape,
                         std::span<const int> order) {
  const std::vector<int64_t> strides = row_major_strides(shape);
  std::vector<T> result(values.size());
  std::vector<int64_t> index(shape.size(), 0);
  int64_t from = 0;
  for (T& value : result) {
    value = values[static_cast<size_t>(from)];
    for (size_t l = shape.size(); l-- > 0;) {
      const auto d = static_cast<size_t>(order[l]);
      from += strides[d];
      if (++index[l] < shape[d]) break;
      from -= strides[d] * shape[d];
      index[l] = 0;
    }
  }
  return result;
}

template std::vector<float> reordered(std::span<const float>, std::span<const int64_t>,
                                      std::span<const int>);
template std::vector<int64_t> reordered(std::span<const int64_t>, std::span<const int64_t>,
                                        std::span<const int>);

}  // namespace fuseflow
