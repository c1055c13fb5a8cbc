// The fill calculus: when is an operator's result the same constant for every admissible value of
// its operands, and what is known of its result otherwise. Sparsity rests on these two functions,
// so each rule is one line with its condition; what is not listed is "unknown".
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/op_class.h"
#include "ops/range.h"

namespace fuseflow {

namespace {

bool is(const Operand& operand, float value) {
  return operand.constant && *operand.constant == value;
}

bool is_nan(const Operand& operand) {
  return operand.constant && std::isnan(*operand.constant);
}

constexpr float kInfinite = std::numeric_limits<float>::infinity();

/// x absorbs y in a product: 0 * y = 0 for finite y. (-0 and 0 are equal.)
std::optional<float> absorbing_product(const Operand& x, const Operand& y) {
  if (is(x, 0) && known(y).finite) return 0.0F;
  return std::nullopt;
}

bool below_inf(const Operand& y) {
  return known(y).below_inf;
}

bool above_minus_inf(const Facts& y) {
  return y.no_nan && y.least > -kInfinite;
}

bool above_minus_inf(const Operand& y) {
  return above_minus_inf(known(y));
}

bool at_most(const Operand& y, float value) {
  return known(y).no_nan && known(y).largest <= value;
}

bool at_least(const Operand& y, float value) {
  return known(y).no_nan && known(y).least >= value;
}

bool positive(const Operand& y) {
  return known(y).nonzero && at_least(y, 0);
}

bool negative(const Operand& y) {
  return known(y).nonzero && at_most(y, 0);
}

/// An infinity absorbs what is not the other one.
std::optional<float> constant_sum(const Operand& x, const Operand& y) {
  if (is(x, -kInfinite) && below_inf(y)) return -kInfinite;
  if (is(x, kInfinite) && above_minus_inf(y)) return kInfinite;
  return std::nullopt;
}

std::optional<float> constant_difference(const Operand& x, const Operand& y) {
  if ((is(x, kInfinite) && below_inf(y)) || (is(y, -kInfinite) && above_minus_inf(x)))
    return kInfinite;
  if ((is(x, -kInfinite) && above_minus_inf(y)) || (is(y, kInfinite) && below_inf(x)))
    return -kInfinite;
  return std::nullopt;
}

/// An infinity times or over y, which has a sign.
std::optional<float> signed_infinity(const Operand& x, const Operand& y) {
  if (!is(x, kInfinite) && !is(x, -kInfinite)) return std::nullopt;
  if (positive(y)) return *x.constant;
  if (negative(y)) return -*x.constant;
  return std::nullopt;
}

std::optional<float> constant_quotient(const Operand& x, const Operand& y) {
  if (is(x, 0) && known(y).nonzero && known(y).no_nan) return 0.0F;
  if ((is(y, kInfinite) || is(y, -kInfinite)) && known(x).finite) return 0.0F;
  return known(y).finite ? signed_infinity(x, y) : std::nullopt;
}

/// Binary operators for which one constant operand decides.
std::optional<float> one_sided(Op op, const Operand& x, const Operand& y) {
  switch (op) {
    case Op::mul:
      if (auto product = absorbing_product(x, y)) return product;
      if (auto product = absorbing_product(y, x)) return product;
      if (auto product = signed_infinity(x, y)) return product;
      return signed_infinity(y, x);
    case Op::add:
      if (auto total = constant_sum(x, y)) return total;
      return constant_sum(y, x);
    case Op::sub:
      return constant_difference(x, y);
    case Op::div:
      return constant_quotient(x, y);
    case Op::logical_and:
      if (is(x, 0) || is(y, 0)) return 0.0F;
      return std::nullopt;
    case Op::logical_or:
      if ((x.constant && !is(x, 0)) || (y.constant && !is(y, 0))) return 1.0F;
      return std::nullopt;
    case Op::max:
      if (x.constant && at_most(y, *x.constant)) return x.constant;
      return y.constant && at_most(x, *y.constant) ? y.constant : std::nullopt;
    case Op::min:
      if (x.constant && at_least(y, *x.constant)) return x.constant;
      return y.constant && at_least(x, *y.constant) ? y.constant : std::nullopt;
    default:
      return std::nullopt;
  }
}

/// where: the condition decides, or both branches agree.
std::optional<float> constant_where(const Operand& condition, const Operand& x, const Operand& y) {
  if (condition.constant) return *condition.constant != 0 ? x.constant : y.constant;
  if (known(condition).nonzero) return x.constant;
  if (x.constant && y.constant && *x.constant == *y.constant) return x.constant;
  return std::nullopt;
}

/// Operators whose result is NaN as soon as one operand is.
bool propagates_nan(Op op) {
  switch (op) {
    case Op::where:
    case Op::pow:
    case Op::leaky_relu:
    case Op::elu:
      return false;
    default:
      return !is_boolean(op);
  }
}

Facts unary_facts(Op op, const Facts& x) {
  Facts result;
  switch (op) {
    case Op::neg:
      // Rounding is symmetric; -inf becomes +inf, so below_inf needs finiteness.
      return {x.finite, x.no_nan, false, x.nonzero, x.finite};
    case Op::abs:
      return {x.finite, x.no_nan, x.no_nan, x.nonzero, x.finite};
    case Op::sign:
    case Op::tanh:
    case Op::erf:
      result = {x.no_nan, x.no_nan, x.nonnegative, op == Op::sign && x.nonzero, x.no_nan};
      return result;
    case Op::sin:
    case Op::cos:
      return {x.finite, x.finite, false, false, x.finite};
    case Op::exp:  // may overflow to +inf and underflow to 0
      return {false, x.no_nan, x.no_nan, false, false};
    case Op::sqrt:
      return {x.finite && x.nonnegative, x.nonnegative, x.nonnegative, x.nonzero,
              x.finite && x.nonnegative};
    case Op::rsqrt: {  // of -0: -inf
      const bool positive = x.nonnegative && x.nonzero;
      return {positive, x.nonnegative, positive, x.finite && x.nonnegative, positive};
    }
    case Op::reciprocal:  // of a denormal: inf; of -0: -inf
      return {false, x.no_nan, x.nonnegative && x.nonzero, x.finite, false};
    case Op::relu:
      return {x.finite || (x.no_nan && x.below_inf), x.no_nan, x.no_nan, false, x.below_inf};
    case Op::sigmoid:
      return {x.no_nan, x.no_nan, x.no_nan, false, x.no_nan};
    case Op::softplus:
      return {x.finite, x.no_nan, x.no_nan, false, x.finite};
    case Op::gelu:
    case Op::gelu_tanh:
    case Op::silu:
    case Op::hardswish:
      return {x.finite, x.finite, x.nonnegative && x.finite, false, x.finite};
    case Op::floor:
    case Op::ceil:
    case Op::round:
      return {x.finite, x.no_nan, x.nonnegative, false, x.below_inf};
    case Op::f16:
    case Op::bf16:  // the range says whether it may overflow, or become 0
      return {false, x.no_nan, x.nonnegative, false, false};
    default:
      return result;
  }
}

Facts binary_facts(Op op, const Facts& x, const Facts& y) {
  switch (op) {
    case Op::add:  // finite + finite may overflow, but is never NaN
      return {false,
              (x.finite && y.no_nan) || (x.no_nan && y.finite) || (x.below_inf && y.below_inf) ||
                  (above_minus_inf(x) && above_minus_inf(y)),
              x.nonnegative && y.nonnegative,
              x.nonnegative && y.nonnegative && (x.nonzero || y.nonzero), false};
    case Op::sub:
      return {false, (x.finite && y.no_nan) || (x.no_nan && y.finite), false, false, false};
    case Op::mul:
      return {false, x.finite && y.finite, x.finite && y.finite && x.nonnegative && y.nonnegative,
              false, false};
    case Op::div:
      return {false, x.finite && y.finite && y.nonzero,
              x.finite && y.finite && y.nonzero && x.nonnegative && y.nonnegative, false, false};
    case Op::min:
    case Op::max: {
      const bool max = op == Op::max;
      const bool no_nan = x.no_nan && y.no_nan;
      const bool nonnegative =
          max ? no_nan && (x.nonnegative || y.nonnegative) : x.nonnegative && y.nonnegative;
      const bool below = max ? x.below_inf && y.below_inf : no_nan && (x.below_inf || y.below_inf);
      return {x.finite && y.finite, no_nan, nonnegative, x.nonzero && y.nonzero, below};
    }
    case Op::pow: {  // negative numbers have whole powers alone
      const bool whole = y.finite && y.least == y.largest && std::floor(y.least) == y.least;
      return {false, whole ? x.no_nan : x.nonnegative && y.no_nan, false, false, false};
    }
    case Op::leaky_relu:
    case Op::elu:
      return {op == Op::elu && x.finite && y.finite, x.finite && y.finite,
              x.nonnegative && x.finite && y.finite, false, op == Op::elu && x.finite && y.finite};
    default:
      return {};
  }
}

}  // namespace

Facts known(const Operand& operand) {
  return operand.constant ? facts_of_constant(*operand.constant) : operand.facts;
}

Facts facts_of_constant(float value) {
  const bool nan = std::isnan(value);
  return {std::isfinite(value),
          !nan,
          value >= 0,
          value != 0,
          !nan && value < kInfinite,
          nan ? kInfinite : value,
          nan ? -kInfinite : value};
}

Facts both(const Facts& a, const Facts& b) {
  return {a.finite && b.finite,          a.no_nan && b.no_nan,       a.nonnegative && b.nonnegative,
          a.nonzero && b.nonzero,        a.below_inf && b.below_inf, std::min(a.least, b.least),
          std::max(a.largest, b.largest)};
}

Facts joined(const Facts& a, const Facts& b) {
  return closed({a.finite || b.finite, a.no_nan || b.no_nan, a.nonnegative || b.nonnegative,
                 a.nonzero || b.nonzero, a.below_inf || b.below_inf, std::max(a.least, b.least),
                 std::min(a.largest, b.largest)});
}

Facts closed(Facts facts) {
  constexpr float kMost = std::numeric_limits<float>::max();
  facts.no_nan = facts.no_nan || facts.finite || facts.below_inf || facts.nonnegative;
  if (facts.finite) facts.least = std::max(facts.least, -kMost);
  if (facts.finite || facts.below_inf) facts.largest = std::min(facts.largest, kMost);
  if (facts.nonnegative) facts.least = std::max(facts.least, 0.0F);
  facts.nonzero = facts.nonzero || facts.least > 0 || facts.largest < 0;
  if (!facts.no_nan) return facts;
  facts.below_inf = facts.largest < kInfinite;
  facts.finite = facts.below_inf && facts.least > -kInfinite;
  facts.nonnegative = facts.least >= 0;
  return facts;
}

Facts within(Facts facts, const Facts& range) {
  facts.least = std::max(facts.least, range.least);
  facts.largest = std::min(facts.largest, range.largest);
  return closed(facts);
}

bool satisfies(float value, const Facts& facts) {
  if (std::isnan(value)) {
    return !facts.finite && !facts.no_nan && !facts.nonnegative && !facts.below_inf;
  }
  return (!facts.finite || std::isfinite(value)) && (!facts.nonnegative || value >= 0) &&
         (!facts.nonzero || value != 0) && (!facts.below_inf || value < kInfinite) &&
         value >= facts.least && value <= facts.largest;
}

std::optional<float> constant_result(Op op, std::span<const Operand> operands) {
  bool all_constant = true;
  std::vector<float> values;
  for (const Operand& operand : operands) {
    all_constant = all_constant && operand.constant.has_value();
    values.push_back(operand.constant.value_or(0.0F));
  }
  if (all_constant) return evaluate(op, values);
  if (op == Op::where) return constant_where(operands[0], operands[1], operands[2]);
  if (propagates_nan(op)) {
    for (const Operand& operand : operands) {
      if (is_nan(operand)) return std::numeric_limits<float>::quiet_NaN();
    }
  }
  if (operands.size() != 2) return std::nullopt;
  return one_sided(op, operands[0], operands[1]);
}

Facts result_facts(Op op, std::span<const Operand> operands) {
  if (const auto constant = constant_result(op, operands)) return facts_of_constant(*constant);
  std::vector<Facts> x;
  for (const Operand& operand : operands) x.push_back(known(operand));
  const Facts range = result_range(op, x);
  if (is_boolean(op)) return within({true, true, true, false, true}, range);
  switch (operands.size()) {
    case 1:
      return within(unary_facts(op, x[0]), range);
    case 2:
      return within(binary_facts(op, x[0], x[1]), range);
    default:
      return within(both(x[1], x[2]), range);
  }
}

}  // namespace fuseflow
