// Guards against sizes that a hostile header or a careless format can ask for.
#pragma once

#include <cstdint>
#include <string_view>

namespace fuseflow {

/// Throws Error(rejected) if `count` exceeds kMaxStored; `what` names what is counted.
void require_countable(uint64_t count, std::string_view what);

/// Throws Error(rejected) if `bytes` exceeds this machine's physical memory; so that a shape that
/// cannot be held is said, not killed for.
void require_memory(uint64_t bytes, std::string_view what);

/// a * b, saturated.
constexpr uint64_t saturating_product(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

}  // namespace fuseflow
