// Guards against sizes and coordinates that a hostile file or a careless format can ask for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "support/stop.h"

namespace fuseflow {

constexpr size_t kMaxRank = 16;  ///< levels of a tensor, extents in a file

/// Throws Error(rejected) if `count` exceeds kMaxStored; `what` names what is counted.
void require_countable(uint64_t count, std::string_view what);

/// Throws Error(rejected) if `bytes` exceeds this machine's physical memory; so that a shape that
/// cannot be held is said, not killed for. Also looks at the limit of stop_if_larger().
void require_memory(uint64_t bytes, std::string_view what);

constexpr size_t kStepsBetweenStops = size_t{1} << 22;  ///< some milliseconds

/// `count` times `value`, in steps between which stop_if_asked() may end it: the memory of a large
/// array takes as long as its use.
template <typename T>
std::vector<T> filled(size_t count, T value) {
  std::vector<T> values;
  values.reserve(count);
  while (values.size() < count) {
    stop_if_asked();
    values.resize(std::min(count, values.size() + kStepsBetweenStops), value);
  }
  return values;
}

/// The first coordinate that is not below the extent; null if there is none.
const uint32_t* find_beyond(std::span<const uint32_t> coordinates, int64_t extent);

/// a * b, saturated.
constexpr uint64_t saturating_product(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/// a + b of numbers that are not negative, saturated.
constexpr int64_t saturating_sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

}  // namespace fuseflow
