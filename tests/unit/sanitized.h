// Whether a sanitizer is on. Tests that simulate thousands of candidates to compare their cycles
// take a few then: the cycles are compared in other builds, and memory is used alike in all of
// them.
#pragma once

#include <cstddef>
#include <vector>

namespace fuseflow {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// All of them; with a sanitizer the first `few`.
template <typename T>
std::vector<T> few_if_sanitized(std::vector<T> all, size_t few) {
  if (kSanitized && all.size() > few) all.erase(all.begin() + static_cast<long>(few), all.end());
  return all;
}

}  // namespace fuseflow
