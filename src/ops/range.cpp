// Each rule gives bounds in double, from operands in f32; one function rounds them outward. An
// infinite bound is "unknown": what may overflow, or what is infinity times 0, has no range.
#include "ops/range.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/op_class.h"

namespace fuseflow {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Range {
  double least = -kInf;
  double largest = kInf;
};

Range range_of(const Facts& facts) {
  return {facts.least, facts.largest};
}

bool is_bounded(const Range& r) {
  return r.least > -kInf && r.largest < kInf && r.least <= r.largest;
}

/// The range as facts. A bound beyond f32 is none: the value may round to an infinity.
Facts outward(const Range& r) {
  constexpr double kMost = std::numeric_limits<float>::max();
  constexpr float kFloatInf = std::numeric_limits<float>::infinity();
  Facts facts;
  if (std::isnan(r.least) || std::isnan(r.largest)) return facts;
  // One step outward covers the rounding of the operation itself and of this conversion. What
  // rounds to 0 stays on its side of it.
  if (r.least > kMost || r.largest < -kMost) return facts;
  if (r.least >= -kMost) facts.least = std::nextafter(static_cast<float>(r.least), -kFloatInf);
  if (r.largest <= kMost) facts.largest = std::nextafter(static_cast<float>(r.largest), kFloatInf);
  if (r.least >= 0) facts.least = std::max(facts.least, 0.0F);
  if (r.largest <= 0) facts.largest = std::min(facts.largest, 0.0F);
  return facts;
}

Range sum(const Range& x, const Range& y) {
  return {x.least + y.least, x.largest + y.largest};
}

Range negated(const Range& x) {
  return {-x.largest, -x.least};
}

Range hull(const Range& x, const Range& y) {
  return {std::min(x.least, y.least), std::max(x.largest, y.largest)};
}

/// The range of a product of which no more is known than the signs.
Range by_signs(const Range& x, const Range& y) {
  const bool x_known = x.least >= 0 || x.largest <= 0, y_known = y.least >= 0 || y.largest <= 0;
  if (!x_known || !y_known) return {};
  return (x.least >= 0) == (y.least >= 0) ? Range{0, kInf} : Range{-kInf, 0};
}

Range product(const Range& x, const Range& y) {
  if (!is_bounded(x) || !is_bounded(y)) return by_signs(x, y);
  const auto [least, largest] = std::minmax(
      {x.least * y.least, x.least * y.largest, x.largest * y.least, x.largest * y.largest});
  return {least, largest};
}

Range quotient(const Range& x, const Range& y) {
  if (!(y.least > 0 || y.largest < 0)) return {};
  if (!is_bounded(x)) return by_signs(x, y);
  return product(x, {1 / y.largest, 1 / y.least});
}

/// Functions of the library may be wrong by a few units in the last place.
Range with_slack(double least, double largest) {
  const auto slack = [](double v) { return std::isfinite(v) ? std::abs(v) * 1e-6 : 0.0; };
  return {least - slack(least), largest + slack(largest)};
}

/// What a function does that neither falls nor leaves [floor, ceiling].
template <typename Function>
Range rising(const Range& x, Function f, double floor, double ceiling) {
  const double least = x.least > -kInf ? f(x.least) : floor;
  const double largest = x.largest < kInf ? f(x.largest) : ceiling;
  const Range r = with_slack(least, largest);
  return {std::max(r.least, floor), std::min(r.largest, ceiling)};
}

/// x to a power that is one whole number.
Range whole_power(const Range& x, double exponent) {
  if (exponent == 0) return {1, 1};
  const bool even = std::fmod(exponent, 2) == 0;
  if (exponent < 0) {
    if (x.least <= 0) return even ? Range{0, kInf} : Range{};  // of -0: -inf, where it is odd
    return with_slack(std::pow(x.largest, exponent), std::pow(x.least, exponent));
  }
  if (!even) return with_slack(std::pow(x.least, exponent), std::pow(x.largest, exponent));
  const double largest = std::max(std::abs(x.least), std::abs(x.largest));
  const double least = x.least > 0 ? x.least : x.largest < 0 ? -x.largest : 0;
  return with_slack(std::pow(least, exponent), std::pow(largest, exponent));
}

Range power(const Range& x, const Range& y) {
  const bool constant = y.least == y.largest && std::isfinite(y.least);
  if (constant && std::floor(y.least) == y.least) return whole_power(x, y.least);
  // -0 to an odd negative power is -inf, and a negative number has no other powers than whole ones.
  return x.least > 0 || (constant && x.least >= 0) ? Range{0, kInf} : Range{};
}

/// Rounding keeps the order of values.
Range rounded_ends(Op op, const Range& x) {
  const auto at = [&](double value) {
    const auto end = static_cast<float>(value);
    return static_cast<double>(evaluate(op, {&end, 1}));
  };
  return {at(x.least), at(x.largest)};
}

/// Between 0 and x for x >= 0.
Range shrinking(const Range& x) {
  return x.least >= 0 ? Range{0, x.largest} : Range{};
}

Range unary(Op op, const Range& x) {
  switch (op) {
    case Op::neg:
      return negated(x);
    case Op::abs:
      if (x.least >= 0) return x;
      return x.largest <= 0 ? negated(x) : Range{0, std::max(-x.least, x.largest)};
    case Op::relu:
      return {std::max(x.least, 0.0), std::max(x.largest, 0.0)};
    case Op::exp: {  // below 2^-126 digits are lost: taken as 0 for the lower bound
      Range r = rising(
          x, [](double v) { return std::exp(v); }, 0, kInf);
      if (r.least < std::numeric_limits<float>::min()) r.least = 0;
      return r;
    }
    case Op::sqrt:
      return rising(
          x, [](double v) { return v > 0 ? std::sqrt(v) : 0.0; }, 0, kInf);
    case Op::floor:
    case Op::ceil:
    case Op::round:
      return {std::floor(x.least), std::ceil(x.largest)};
    case Op::sign:
    case Op::tanh:
    case Op::erf:
      return {x.least >= 0 ? 0.0 : -1.0, x.largest <= 0 ? 0.0 : 1.0};
    case Op::silu:
    case Op::gelu:
    case Op::gelu_tanh:
    case Op::hardswish:
      return shrinking(x);
    case Op::softplus:
      return {0, kInf};
    case Op::reciprocal:
      return quotient({1, 1}, x);
    case Op::rsqrt:  // of -0: -inf
      if (x.least <= 0) return {};
      return with_slack(1 / std::sqrt(x.largest), 1 / std::sqrt(x.least));
    case Op::sin:
    case Op::cos:
      return {-1, 1};
    case Op::sigmoid:
      return {0, 1};
    case Op::f16:
    case Op::bf16:
      return rounded_ends(op, x);
    default:
      return {};
  }
}

Range binary(Op op, const Range& x, const Range& y) {
  switch (op) {
    case Op::add:
      return sum(x, y);
    case Op::sub:
      return sum(x, negated(y));
    case Op::mul:
      return product(x, y);
    case Op::div:
      return quotient(x, y);
    case Op::pow:
      return power(x, y);
    case Op::min:
      return {std::min(x.least, y.least), std::min(x.largest, y.largest)};
    case Op::max:
      return {std::max(x.least, y.least), std::max(x.largest, y.largest)};
    default:
      return {};
  }
}

}  // namespace

Facts result_range(Op op, std::span<const Facts> operands) {
  if (is_boolean(op)) return outward({0, 1});
  std::vector<Range> x;
  for (const Facts& facts : operands) x.push_back(range_of(facts));
  if (x.size() == 1) return outward(unary(op, x[0]));
  if (x.size() == 2) return outward(binary(op, x[0], x[1]));
  return outward(hull(x[1], x[2]));
}

namespace {

/// The range of a sum or a product of any number of values of one sign.
Range by_sign(Reduction reduction, const Range& x) {
  if (x.least >= 0) return {0, kInf};
  return reduction != Reduction::prod && x.largest <= 0 ? Range{-kInf, 0} : Range{};
}

}  // namespace

Facts reduced_range(Reduction reduction, const Facts& body, double count) {
  const Range x = range_of(body);
  constexpr double kMostExact = 4194304;  // 2^22: n roundings by 2^-24 each stay below 1 + n 2^-23
  switch (reduction) {
    case Reduction::sum:
    case Reduction::mean: {  // divided at the end: the sum may overflow before
      if (!is_bounded(x) || count < 0 || count > kMostExact) return outward(by_sign(reduction, x));
      const double factor = count * (1 + count * 0x1p-23);
      // A sum of positive numbers, however rounded, is no less than one of them.
      const bool positive = x.least > 0 && count > 0;
      const Range total{positive ? x.least : std::min(0.0, x.least * factor),
                        std::max(0.0, x.largest * factor)};
      constexpr double kMost = std::numeric_limits<float>::max();
      if (total.least < -kMost || total.largest > kMost) return outward(by_sign(reduction, x));
      if (reduction == Reduction::sum) return outward(total);
      return count > 0 ? outward({total.least / count, total.largest / count}) : Facts{};
    }
    case Reduction::max:
    case Reduction::min:
      return count > 0 ? outward(x) : Facts{};
    case Reduction::prod:
      return outward(by_sign(reduction, x));
  }
  return {};
}

}  // namespace fuseflow
