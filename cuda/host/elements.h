// What is stored of a number: elements as bits, rounded as the language rounds them
// (ir-spec/language.md, "Element types"). See gpu/elements.h.
#pragma once

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace ff {

/// Floating point of 8 bits.
struct Quarter {
  int fraction_bits;
  int least_exponent;  ///< of a normal number
  unsigned largest;    ///< the bits of the largest finite number
  unsigned beyond;     ///< .. of what is larger: infinity where the type has one
};
inline Quarter quarter_of(Type type) {
  return type == Type::f8e4m3 ? Quarter{3, -6, 0x7e, 0x7e} : Quarter{2, -14, 0x7b, 0x7c};
}
constexpr unsigned kQuarterSign = 0x80, kQuarterNan = 0x7f;

/// Rounded to the nearest one, of two to the even one.
inline unsigned quarter_bits(Type type, float x) {
  const Quarter of = quarter_of(type);
  const unsigned sign = std::signbit(x) ? kQuarterSign : 0;
  if (std::isnan(x)) return sign | kQuarterNan;
  if (std::isinf(x)) return sign | of.beyond;
  const float size = std::fabs(x);
  const int exponent = size > 0 ? std::max(std::ilogb(size), of.least_exponent) : of.least_exponent;
  const auto steps =
      static_cast<long>(std::nearbyint(std::ldexp(size, of.fraction_bits - exponent)));
  // A number is normal from 2^fraction_bits steps on, and one step more than the most is the next
  // exponent's first number: bits go on counting.
  const long bits = (static_cast<long>(exponent - of.least_exponent) << of.fraction_bits) + steps;
  return sign | (bits > static_cast<long>(of.largest) ? of.beyond : static_cast<unsigned>(bits));
}
inline float quarter_value(Type type, unsigned bits) {
  const Quarter of = quarter_of(type);
  const unsigned size = bits & ~kQuarterSign, one = 1U << of.fraction_bits;
  const auto exponent = static_cast<int>(size >> of.fraction_bits);
  const unsigned steps = exponent == 0 ? size : size % one + one;
  float x = std::ldexp(static_cast<float>(steps),
                       of.least_exponent - of.fraction_bits + (exponent == 0 ? 0 : exponent - 1));
  if (size > of.largest)
    x = size == of.beyond ? std::numeric_limits<float>::infinity()
                          : std::numeric_limits<float>::quiet_NaN();
  return std::copysign(x, (bits & kQuarterSign) != 0 ? -1.0F : 1.0F);
}
inline float quarter_from(Type type, unsigned bits) {
  const auto all_of = [](Type of) {
    std::array<float, 256> all{};
    for (unsigned i = 0; i < 256; ++i) all[i] = quarter_value(of, i);
    return all;
  };
  static const std::array<float, 256> e4m3 = all_of(Type::f8e4m3), e5m2 = all_of(Type::f8e5m2);
  return (type == Type::f8e4m3 ? e4m3 : e5m2)[bits & 0xff];
}

/// f16 by hand: not every compiler that runs kernels on the CPU has a type for it (clang 14).
inline uint16_t half_bits(float x) {
  constexpr uint32_t kHidden = 13;  ///< bits of a float's fraction that are beyond those of f16
  constexpr float kLeastNormal = 0x1p-14F, kLeastStep = 0x1p-24F, kBeyond = 65520;
  uint32_t all;
  std::memcpy(&all, &x, 4);
  const uint32_t sign = all >> 16 & 0x8000;
  const float size = std::fabs(x);
  if (std::isnan(x)) return static_cast<uint16_t>(sign | 0x7e00);
  if (size >= kBeyond) return static_cast<uint16_t>(sign | 0x7c00);
  if (size < kLeastNormal)
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(std::nearbyint(size / kLeastStep)));
  const uint32_t kept = all & 0x7fffffff;
  const uint32_t rounded = kept + (1U << (kHidden - 1)) - 1 + (kept >> kHidden & 1);
  return static_cast<uint16_t>(sign | ((rounded >> kHidden) - ((127U - 15U) << 10)));
}
inline float half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const auto fraction = static_cast<float>(bits & 1023);
  float x = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  if (exponent == 31)
    x = fraction == 0 ? std::numeric_limits<float>::infinity()
                      : std::numeric_limits<float>::quiet_NaN();
  return std::copysign(x, (bits & 0x8000) != 0 ? -1.0F : 1.0F);
}
inline float half_from(uint16_t bits) {
  static const std::array<float, 65536> all = [] {
    std::array<float, 65536> values{};
    for (unsigned i = 0; i < values.size(); ++i) values[i] = half_value(static_cast<uint16_t>(i));
    return values;
  }();
  return all[bits];
}

constexpr uint32_t kTf32Step = 1U << 13;  ///< in bits of f32, whose last 13 tf32 has not

/// A number of f32 as products take it: with the digits of tf32, of two nearest ones the larger.
inline uint32_t factor_bits(float x) {
  uint32_t all;
  std::memcpy(&all, &x, 4);
  if (std::isfinite(x)) all += kTf32Step / 2;
  if (std::isnan(x)) all |= 0x400000;
  return all & ~(kTf32Step - 1);
}
/// From an element that products take to the next.
inline uint32_t step_of(Type type) {
  return type == Type::f32 ? kTf32Step : 1;
}

/// A number as an element that products take, rounded to the nearest one (of two to the even one,
/// of f32 to the larger).
inline uint32_t to_bits(Type type, float x) {
  if (type == Type::f32) return factor_bits(x);
  if (is_quarter(type)) return quarter_bits(type, x);
  if (type == Type::bf16) {
    uint32_t all;
    std::memcpy(&all, &x, 4);
    const uint32_t rounded = x == x ? all + 0x7fff + (all >> 16 & 1) : all | 0x400000;
    return rounded >> 16;
  }
  return half_bits(x);
}
inline float from_bits(Type type, uint32_t bits) {
  if (is_quarter(type)) return quarter_from(type, bits);
  if (type == Type::bf16 || type == Type::f32) {
    const uint32_t all = type == Type::bf16 ? bits << 16 : bits;
    float x;
    std::memcpy(&x, &all, 4);
    return x;
  }
  return half_from(static_cast<uint16_t>(bits));
}
inline float rounded_to(Type type, float x) {
  return is_rounded(type) ? from_bits(type, to_bits(type, x)) : x;
}

/// Whether what is rounded on its way into the scratchpad is rounded the other way: up for down.
/// What that changes bounds what rounding does.
inline bool& rounds_other_way() {
  static bool other = false;
  return other;
}
/// Whether some of what threads put into the scratchpad was a number beyond its type: as f16 it is
/// an infinity then, as f8 the largest number.
inline std::atomic<bool>& put_beyond() {
  static std::atomic<bool> beyond = false;
  return beyond;
}
/// Whether such numbers are put as NaN: what depends on them is NaN then.
inline bool& beyond_is_nan() {
  static bool nan = false;
  return nan;
}
/// Is a number larger than the largest of a type, by more than is rounded away?
inline bool is_beyond(Type type, float x, uint32_t bits, float nearest) {
  if (!std::isfinite(x) || !std::isfinite(nearest)) return std::isfinite(x);
  if (std::isfinite(from_bits(type, bits + step_of(type)))) return false;
  const float before = from_bits(type, bits - step_of(type));
  return std::fabs(x) - std::fabs(nearest) > (std::fabs(nearest) - std::fabs(before)) / 2;
}
inline uint32_t bits_to_put(Type type, float x) {
  const uint32_t bits = to_bits(type, x);
  const float nearest = from_bits(type, bits);
  if (is_beyond(type, x, bits, nearest)) {
    put_beyond() = true;
    if (beyond_is_nan()) return to_bits(type, std::nanf(""));
  }
  if (!rounds_other_way() || std::isnan(x) || nearest == x) return bits;
  // Bits count magnitudes.
  const bool down = std::fabs(nearest) > std::fabs(x);
  const uint32_t other = down ? bits - step_of(type) : bits + step_of(type);
  return std::isfinite(from_bits(type, other)) ? other : bits;
}

/// An element of memory as it comes into the scratchpad: f32 is rounded for that.
inline uint32_t bits_to_load(Type type, float x) {
  return type == Type::f32 ? bits_to_put(type, x) : to_bits(type, x);
}

}  // namespace ff
