// Binary floating point of fewer bits than f32, and what it makes of a value: for the operators
// that round (scalar.h) and for tensors that are stored so (tensor/element_type.h).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace fuseflow {

struct BinaryFloat {
  int mantissa_bits = 0;   ///< that are stored
  int least_exponent = 0;  ///< of a normal value
  float largest = 0;       ///< of the finite values
  bool infinities = false;
};

inline constexpr BinaryFloat kF16{10, -14, 65504, true};
inline constexpr BinaryFloat kBf16{7, -126, 0x1.FEp127F, true};
inline constexpr BinaryFloat kF8e4m3{3, -6, 448, false};
inline constexpr BinaryFloat kF8e5m2{2, -14, 57344, true};

/// To the type's mantissa, half to even, as if its exponents had no largest. `value` is finite.
inline float round_mantissa(float value, const BinaryFloat& type) {
  constexpr int kF32Mantissa = 23;
  const int dropped = kF32Mantissa - type.mantissa_bits;
  const float magnitude = std::fabs(value);
  if (magnitude < std::ldexp(1.0F, type.least_exponent)) {
    // A sum with this has the type's least step as its own: adding it rounds to that, to even.
    const float step = std::ldexp(1.0F, type.least_exponent + dropped);
    return std::copysign((magnitude + step) - step, value);
  }
  const auto bits = std::bit_cast<uint32_t>(magnitude);
  const uint32_t last = bits >> dropped & 1U;
  const uint32_t below_half = (1U << (dropped - 1)) - 1;
  const uint32_t result = (bits + below_half + last) >> dropped << dropped;
  return std::copysign(std::bit_cast<float>(result), value);
}

/// The type's value nearest to `value`, of two equally near the even one; beyond the largest
/// infinity where the type has one, else the largest. NaN stays NaN.
inline float rounded_to(float value, const BinaryFloat& type) {
  if (std::isnan(value)) return value;
  const float result = std::isinf(value) ? value : round_mantissa(value, type);
  if (std::fabs(result) <= type.largest) return result;
  const float beyond = type.infinities ? std::numeric_limits<float>::infinity() : type.largest;
  return std::copysign(beyond, value);
}

}  // namespace fuseflow
