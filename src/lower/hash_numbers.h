// A hash of numbers in their order.
#pragma once

#include <cstdint>
#include <span>

namespace fuseflow {

/// Each is multiplied in, and the high bits come down.
inline uint32_t hash_of(std::span<const int64_t> values) {
  uint64_t hash = values.size();
  for (const int64_t value : values) {
    hash = (hash ^ static_cast<uint64_t>(value)) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 32;
  }
  return static_cast<uint32_t>(hash);
}

}  // namespace fuseflow
