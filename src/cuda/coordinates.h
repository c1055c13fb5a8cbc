// Arithmetic on the coordinates of kernels.
#pragma once

#include "cuda/kernel.h"

namespace fuseflow::cuda {

inline Coordinate coordinate(const std::string& variable, int64_t factor = 1) {
  if (variable.empty() || factor == 0) return {};
  return {{{variable, factor}}, 0};
}

inline Coordinate sum(Coordinate a, const Coordinate& b) {
  a.terms.insert(a.terms.end(), b.terms.begin(), b.terms.end());
  a.offset += b.offset;
  return a;
}

inline Coordinate times(Coordinate a, int64_t factor) {
  for (auto& [name, by] : a.terms) by *= factor;
  a.offset *= factor;
  return a;
}

/// The least multiple of `to` that is not below the value.
inline int64_t rounded_up(int64_t value, int64_t to) {
  return (value + to - 1) / to * to;
}

}  // namespace fuseflow::cuda
