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

/// As facts. A bound beyond f32 is none: the value may round to an infinity.
Facts outward(const Range& r) {
  constexpr double kMost = std::numeric_limits<float>::max();
  constexpr float kFloatInf = std::numeric_limits<float>::infinity();
  Facts facts;
  if (std::isnan(r.least) || std::isnan(r.largest)) return facts;
  // One step outward covers the rounding of the operation itself and of this conversion.
  if (r.least > kMost || r.largest < -kMost) return facts;
  if (r.least == 0) facts.least = 0;
  if (r.least != 0 && r.least >= -kMost)
    facts.least = std::nextafter(static_cast<float>(r.least), -kFloatInf);
  if (r.largest == 0) facts.largest = 0;
  if (r.largest != 0 && r.largest <= kMost)
    facts.largest = std::nextafter(static_cast<float>(r.largest), kFloatInf);
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

Range product(const Range& x, const Range& y) {
  if (!is_bounded(x) || !is_bounded(y)) {
    return x.least >= 0 && y.least >= 0 ? Range{0, kInf} : Range{};
  }
  const auto [least, largest] = std::minmax(
      {x.least * y.least, x.least * y.largest, x.largest * y.least, x.largest * y.largest});
  return {least, largest};
}

Range quotient(const Range& x, const Range& y) {
  if (!is_bounded(x) || !(y.least > 0 || y.largest < 0)) return {};
  return product(x, {1 / y.largest, 1 / y.least});
}

/// What a function does that neither falls nor leaves [floor, ceiling].
template <typename Function>
Range rising(const Range& x, Function f, double floor, double ceiling) {
  const double least = x.least > -kInf ? f(x.least) : floor;
  const double largest = x.largest < kInf ? f(x.largest) : ceiling;
  // Functions of the library may be wrong by a few units in the last place.
  const auto slack = [](double v) { return std::abs(v) * 1e-6; };
  return {std::max(least - slack(least), floor), std::min(largest + slack(largest), ceiling)};
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
    case Op::sin:
    case Op::cos:
      return {-1, 1};
    case Op::sigmoid:
      return {0, 1};
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

Facts reduced_range(Reduction reduction, const Facts& body, double count) {
  const Range x = range_of(body);
  constexpr double kMostExact = 4194304;  // 2^22: n roundings by 2^-24 each stay below 1 + n 2^-23
  switch (reduction) {
    case Reduction::sum:
    case Reduction::mean: {  // divided at the end: the sum may overflow before
      if (!is_bounded(x) || count < 0 || count > kMostExact) return {};
      const double factor = count * (1 + count * 0x1p-23);
      // A sum of positive numbers, however rounded, is no less than one of them.
      const bool positive = x.least > 0 && count > 0;
      const Range total{positive ? x.least : std::min(0.0, x.least * factor),
                        std::max(0.0, x.largest * factor)};
      constexpr double kMost = std::numeric_limits<float>::max();
      if (total.least < -kMost || total.largest > kMost) return {};
      if (reduction == Reduction::sum) return outward(total);
      return count > 0 ? outward({total.least / count, total.largest / count}) : Facts{};
    }
    case Reduction::max:
    case Reduction::min:
      return count > 0 ? outward(x) : Facts{};
    default:
      return {};
  }
}

}  // namespace fuseflow
