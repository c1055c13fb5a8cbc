// Guards against sizes and coordinates that a hostile file or a careless format can ask for.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fuseflow {

/// Throws Error(rejected) if `count` exceeds kMaxStored; `what` names what is counted.
void require_countable(uint64_t count, std::string_view what);

/// Throws Error(rejected) if `bytes` exceeds this machine's physical memory; so that a shape that
/// cannot be held is said, not killed for.
void require_memory(uint64_t bytes, std::string_view what);

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
