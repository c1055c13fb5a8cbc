// The sign bit of a product or quotient that is a number is the product of the operands' sign bits,
// also where it overflows or becomes 0. So the sign of a value is known where every factor of
// unknown sign occurs an even number of times.
#include "ops/sign.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace fuseflow {

namespace {

/// An exponent that is one whole number.
bool is_whole_constant(const Facts& facts) {
  return facts.least == facts.largest && std::isfinite(facts.least) &&
         std::floor(facts.least) == facts.least;
}

bool is_even(float whole) {
  return std::fmod(whole, 2.0F) == 0;
}

/// Factors that both have occur twice and go.
Sign product(const Sign& x, const Sign& y) {
  Sign result{x.negative != y.negative, {}, x.may_be_zero || y.may_be_zero};
  std::set_symmetric_difference(x.odd.begin(), x.odd.end(), y.odd.begin(), y.odd.end(),
                                std::back_inserter(result.odd));
  return result;
}

bool opposite(const Sign& x, const Sign& y) {
  return x.negative != y.negative && x.odd == y.odd;
}

}  // namespace

/// `divides`: of a divisor. 0 has a sign bit, which the range of a value does not tell.
Sign SignedFacts::sign_of(int number, const Facts& facts, bool divides) const {
  const bool is_known = facts.least >= 0 || facts.largest <= 0;
  if (is_known && (!divides || facts.nonzero)) return {facts.least < 0, {}, !facts.nonzero};
  const auto at = known_.find(number);
  if (at == known_.end() || (divides && at->second.may_be_zero)) return {false, {number}};
  return at->second;
}

Sign SignedFacts::sign_of_result(Op op, int number, std::span<const int> of,
                                 std::span<const Facts> facts) const {
  const auto sign = [&](size_t operand, bool divides) {
    return sign_of(of[operand], facts[operand], divides);
  };
  switch (op) {
    case Op::mul:
      return product(sign(0, false), sign(1, false));
    case Op::div:
      return product(sign(0, false), sign(1, true));
    case Op::reciprocal:
      return sign(0, true);
    case Op::neg: {
      Sign negated = sign(0, false);
      negated.negative = !negated.negative;
      return negated;
    }
    case Op::sign:
    case Op::tanh:
    case Op::erf:
    case Op::f16:
    case Op::bf16:
      return sign(0, false);
    case Op::pow:
      if (!is_whole_constant(facts[1])) break;
      if (is_even(facts[1].least)) return {};
      return sign(0, facts[1].least < 0);
    default:
      break;
  }
  return {false, {number}};
}

Facts SignedFacts::apply(Op op, int number, std::span<const int> of,
                         std::span<const Operand> operands) {
  const Facts facts = result_facts(op, operands);
  std::vector<Facts> x;
  for (const Operand& operand : operands) x.push_back(known(operand));
  const Sign sign = sign_of_result(op, number, of, x);
  Facts more;
  if (sign.odd.empty()) (sign.negative ? more.largest : more.least) = 0;
  if (op == Op::mul && of[0] == of[1]) more.no_nan = x[0].no_nan;  // it has no 0 beside an infinity
  const bool extreme = op == Op::max || op == Op::min;
  if (extreme && opposite(sign_of(of[0], x[0], false), sign_of(of[1], x[1], false))) {
    (op == Op::max ? more.least : more.largest) = 0;
  }
  known_[number] = sign;
  return joined(facts, more);
}

}  // namespace fuseflow
