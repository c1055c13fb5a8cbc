// Copies between orders of the dimensions of a dense array.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fuseflow {

/// Strides of row-major storage, in elements; all 1 where the shape has none (its other extents
/// may be of any size).
std::vector<int64_t> row_major_strides(std::span<const int64_t> shape);

/// Copies row-major `values` of `shape` so that dimension order[0] varies slowest, order.back()
/// fastest. One value per element of the shape.
template <typename T>
std::vector<T> reordered(std::span<const T> values, std::span<const int64_t> shape,
                         std::span<const int> order);

extern template std::vector<float> reordered(std::span<const float>, std::span<const int64_t>,
                                             std::span<const int>);
extern template std::vector<int64_t> reordered(std::span<const int64_t>, std::span<const int64_t>,
                                               std::span<const int>);

}  // namespace fuseflow
