// The scalar operators of programs, in f32, as the simulator has them.
#pragma once

namespace ff::op {

FF_FN float neg(float x) {
  return -x;
}
FF_FN float abs(float x) {
  return fabsf(x);
}
FF_FN float sign(float x) {
  return x > 0 ? 1.0F : (x < 0 ? -1.0F : x);
}
FF_FN float exp(float x) {
  return expf(x);
}
FF_FN float log(float x) {
  return logf(x);
}
FF_FN float sqrt(float x) {
  return sqrtf(x);
}
FF_FN float rsqrt(float x) {
  return 1.0F / sqrtf(x);
}
FF_FN float reciprocal(float x) {
  return 1.0F / x;
}
FF_FN float relu(float x) {
  return x > 0 || x != x ? x : 0.0F;
}
FF_FN float sigmoid(float x) {
  return 1.0F / (1.0F + expf(-x));
}
FF_FN float tanh(float x) {
  return tanhf(x);
}
FF_FN float erf(float x) {
  return erff(x);
}
FF_FN float softplus(float x) {
  return x > 20.0F ? x : log1pf(expf(x));
}
FF_FN float gelu(float x) {
  return 0.5F * x * (1.0F + erff(x * 0.70710678118654752F));
}
FF_FN float gelu_tanh(float x) {
  return 0.5F * x * (1.0F + tanhf(0.79788456080286536F * (x + 0.044715F * x * x * x)));
}
FF_FN float silu(float x) {
  return x / (1.0F + expf(-x));
}
FF_FN float min(float x, float y) {
  return x < y || x != x ? x : y;
}
FF_FN float max(float x, float y) {
  return x > y || x != x ? x : y;
}
FF_FN float hardswish(float x) {
  return x * min(max(x / 6.0F + 0.5F, 0.0F), 1.0F);
}
FF_FN float floor(float x) {
  return floorf(x);
}
FF_FN float ceil(float x) {
  return ceilf(x);
}
FF_FN float round(float x) {
  return nearbyintf(x);
}
FF_FN float logical_not(float x) {
  return x == 0 ? 1.0F : 0.0F;
}
FF_FN float isnan(float x) {
  return x != x ? 1.0F : 0.0F;
}
FF_FN float isinf(float x) {
  return fabsf(x) > 3.4028234663852886e38F ? 1.0F : 0.0F;
}
FF_FN float sin(float x) {
  return sinf(x);
}
FF_FN float cos(float x) {
  return cosf(x);
}
FF_FN float add(float x, float y) {
  return x + y;
}
FF_FN float sub(float x, float y) {
  return x - y;
}
FF_FN float mul(float x, float y) {
  return x * y;
}
FF_FN float div(float x, float y) {
  return x / y;
}
FF_FN float pow(float x, float y) {
  return powf(x, y);
}
FF_FN float mod(float x, float y) {
  const float rest = fmodf(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest + 0.0F;
}
FF_FN float eq(float x, float y) {
  return x == y ? 1.0F : 0.0F;
}
FF_FN float ne(float x, float y) {
  return x != y ? 1.0F : 0.0F;
}
FF_FN float lt(float x, float y) {
  return x < y ? 1.0F : 0.0F;
}
FF_FN float le(float x, float y) {
  return x <= y ? 1.0F : 0.0F;
}
FF_FN float gt(float x, float y) {
  return x > y ? 1.0F : 0.0F;
}
FF_FN float ge(float x, float y) {
  return x >= y ? 1.0F : 0.0F;
}
FF_FN float logical_and(float x, float y) {
  return x != 0 && y != 0 ? 1.0F : 0.0F;
}
FF_FN float logical_or(float x, float y) {
  return x != 0 || y != 0 ? 1.0F : 0.0F;
}
FF_FN float logical_xor(float x, float y) {
  return (x != 0) != (y != 0) ? 1.0F : 0.0F;
}
FF_FN float leaky_relu(float x, float alpha) {
  return x >= 0 || x != x ? x : alpha * x;
}
FF_FN float elu(float x, float alpha) {
  return x > 0 || x != x ? x : alpha * expm1f(x);
}
FF_FN float where(float condition, float x, float y) {
  return condition != 0 ? x : y;
}

}  // namespace ff::op
