// Integer division that rounds up.
#pragma once

#include <concepts>

namespace fuseflow {

/// The least n with n * b >= a; a >= 0, b > 0. Never overflows.
template <std::integral T>
constexpr T ceil_div(T a, T b) {
  return static_cast<T>(a / b + (a % b != 0 ? 1 : 0));
}

}  // namespace fuseflow
