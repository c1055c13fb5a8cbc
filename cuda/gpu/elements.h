// What is stored of a number: elements as bits, rounded as the language rounds them
// (ir-spec/language.md, "Element types"). See host/elements.h.
#pragma once

namespace ff {

FF_FN constexpr __nv_fp8_interpretation_t quarter_of(Type type) {
  return type == Type::f8e4m3 ? __NV_E4M3 : __NV_E5M2;
}
/// Conversions to 8 bits end at the largest number, which is the language's rule for e4m3. Beyond
/// it e5m2 has infinity: from the middle to what would be the next number on.
FF_FN unsigned beyond_quarter(Type type, float x) {
  constexpr float kMiddle = 61440;
  if (type == Type::f8e4m3 || !(fabsf(x) >= kMiddle)) return 0;
  return x < 0 ? 0xfc : 0x7c;
}

/// A number of f32 as products take it: with the digits of tf32, of two nearest ones the larger.
__device__ inline float as_factor(float x) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return __uint_as_float(bits);
}

/// A number as an element of one or two bytes, rounded to the nearest one (of two to the even one).
FF_FN unsigned short to_bits(Type type, float x) {
  if (is_quarter(type)) {
    const unsigned beyond = beyond_quarter(type, x);
    return beyond != 0 ? beyond : __nv_cvt_float_to_fp8(x, __NV_SATFINITE, quarter_of(type));
  }
  return type == Type::bf16 ? __bfloat16_as_ushort(__float2bfloat16_rn(x))
                            : __half_as_ushort(__float2half_rn(x));
}
FF_FN float from_bits(Type type, unsigned short bits) {
  if (is_quarter(type)) {
    const auto element = static_cast<__nv_fp8_storage_t>(bits);
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(element, quarter_of(type))));
  }
  return type == Type::bf16 ? __bfloat162float(__ushort_as_bfloat16(bits))
                            : __half2float(__ushort_as_half(bits));
}
__device__ inline float rounded_to(Type type, float x) {
  return is_rounded(type) ? from_bits(type, to_bits(type, x)) : x;
}
/// Two elements that follow each other.
__device__ inline unsigned pair_bits(Type type, float x, float y) {
  if (is_quarter(type)) {
    unsigned both = __nv_cvt_float2_to_fp8x2(make_float2(x, y), __NV_SATFINITE, quarter_of(type));
    if (const unsigned beyond = beyond_quarter(type, x)) both = (both & 0xff00) | beyond;
    if (const unsigned beyond = beyond_quarter(type, y)) both = (both & 0xff) | beyond << 8;
    return both;
  }
  if (type == Type::bf16) {
    const __nv_bfloat162 both = __floats2bfloat162_rn(x, y);
    return *reinterpret_cast<const unsigned*>(&both);
  }
  const half2 both = __floats2half2_rn(x, y);
  return *reinterpret_cast<const unsigned*>(&both);
}

}  // namespace ff
