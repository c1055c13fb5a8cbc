// The scalar operators themselves, one small function object each, so that loops over them inline.
// f32 throughout. An operator is added here, in the enumeration of op.h and in the table of op.cpp.
#pragma once

#include <cmath>

#include "ops/binary_float.h"

namespace fuseflow::scalar {

// Written as selects, so that loops vectorise; a NaN operand wins, as in PyTorch.
inline float max_nan(float a, float b) {
  return a > b || a != a ? a : b;
}
inline float min_nan(float a, float b) {
  return a < b || a != a ? a : b;
}
inline float truth(bool value) {
  return value ? 1.0F : 0.0F;
}

/// The remainder of a division that rounds down, with the sign of the divisor, as in Python. Exact
/// for numbers of any size, but for the sum where the signs differ.
inline float floored_mod(float x, float y) {
  const float rest = std::fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest + 0.0F;  // never -0
}

#define FUSEFLOW_UNARY(name, expression)                   \
  struct name {                                            \
    static constexpr int kArity = 1;                       \
    float operator()(float x) const { return expression; } \
  };
#define FUSEFLOW_BINARY(name, expression)                           \
  struct name {                                                     \
    static constexpr int kArity = 2;                                \
    float operator()(float x, float y) const { return expression; } \
  };

FUSEFLOW_UNARY(neg, -x)
FUSEFLOW_UNARY(abs, std::fabs(x))
FUSEFLOW_UNARY(sign, x > 0 ? 1.0F : (x < 0 ? -1.0F : x))
FUSEFLOW_UNARY(exp, std::exp(x))
FUSEFLOW_UNARY(log, std::log(x))
FUSEFLOW_UNARY(sqrt, std::sqrt(x))
FUSEFLOW_UNARY(rsqrt, 1.0F / std::sqrt(x))
FUSEFLOW_UNARY(reciprocal, 1.0F / x)
FUSEFLOW_UNARY(relu, x > 0 || x != x ? x : 0.0F)
FUSEFLOW_UNARY(sigmoid, 1.0F / (1.0F + std::exp(-x)))
FUSEFLOW_UNARY(tanh, std::tanh(x))
FUSEFLOW_UNARY(erf, std::erf(x))
// log(1 + e^x) without overflow.
FUSEFLOW_UNARY(softplus, x > 20.0F ? x : std::log1p(std::exp(x)))
FUSEFLOW_UNARY(gelu, 0.5F * x * (1.0F + std::erf(x * 0.70710678118654752F)))
FUSEFLOW_UNARY(gelu_tanh,
               0.5F * x * (1.0F + std::tanh(0.79788456080286536F * (x + 0.044715F * x * x * x))))
FUSEFLOW_UNARY(silu, x / (1.0F + std::exp(-x)))
FUSEFLOW_UNARY(hardswish, x* min_nan(max_nan(x / 6.0F + 0.5F, 0.0F), 1.0F))
FUSEFLOW_UNARY(floor, std::floor(x))
FUSEFLOW_UNARY(ceil, std::ceil(x))
FUSEFLOW_UNARY(round, std::nearbyint(x))  // half to even, the default rounding mode
FUSEFLOW_UNARY(logical_not, truth(x == 0))
FUSEFLOW_UNARY(isnan, truth(x != x))
FUSEFLOW_UNARY(isinf, truth(std::isinf(x)))
FUSEFLOW_UNARY(sin, std::sin(x))
FUSEFLOW_UNARY(cos, std::cos(x))
FUSEFLOW_UNARY(f16, rounded_to(x, kF16))
FUSEFLOW_UNARY(bf16, rounded_to(x, kBf16))

FUSEFLOW_BINARY(add, x + y)
FUSEFLOW_BINARY(sub, x - y)
FUSEFLOW_BINARY(mul, x* y)
FUSEFLOW_BINARY(div, x / y)
FUSEFLOW_BINARY(pow, std::pow(x, y))
FUSEFLOW_BINARY(min, min_nan(x, y))
FUSEFLOW_BINARY(max, max_nan(x, y))
FUSEFLOW_BINARY(mod, floored_mod(x, y))
FUSEFLOW_BINARY(eq, truth(x == y))
FUSEFLOW_BINARY(ne, truth(x != y))
FUSEFLOW_BINARY(lt, truth(x < y))
FUSEFLOW_BINARY(le, truth(x <= y))
FUSEFLOW_BINARY(gt, truth(x > y))
FUSEFLOW_BINARY(ge, truth(x >= y))
FUSEFLOW_BINARY(logical_and, truth(x != 0 && y != 0))
FUSEFLOW_BINARY(logical_or, truth(x != 0 || y != 0))
FUSEFLOW_BINARY(logical_xor, truth((x != 0) != (y != 0)))
FUSEFLOW_BINARY(leaky_relu, x >= 0 || x != x ? x : y * x)
FUSEFLOW_BINARY(elu, x > 0 || x != x ? x : y * std::expm1(x))

struct where {
  static constexpr int kArity = 3;
  float operator()(float condition, float x, float y) const { return condition != 0 ? x : y; }
};

#undef FUSEFLOW_UNARY
#undef FUSEFLOW_BINARY

// clang-format does not settle on one layout of this list.
// clang-format off
#define FUSEFLOW_FOR_EACH_OP(F)                                                                    \
  F(neg)                                                                                           \
  F(abs) F(sign) F(exp) F(log) F(sqrt) F(rsqrt) F(reciprocal) F(relu) F(sigmoid) F(tanh) F(erf)    \
      F(softplus) F(gelu) F(gelu_tanh) F(silu) F(hardswish) F(floor) F(ceil) F(round)              \
          F(logical_not) F(isnan) F(isinf) F(sin) F(cos) F(add) F(sub) F(mul) F(div) F(pow) F(min) \
              F(max) F(mod) F(eq) F(ne) F(lt) F(le) F(gt) F(ge) F(logical_and) F(logical_or)       \
                  F(logical_xor) F(leaky_relu) F(elu) F(where) F(f16) F(bf16)
// clang-format on

}  // namespace fuseflow::scalar
