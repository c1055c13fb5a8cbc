// What equal operands say of a result, against brute force: expressions of a few values, with each
// of these in every combination of awkward numbers.
#include "ops/sign.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace fuseflow {
namespace {

const float kSigned[] = {0.0F,  -0.0F,  1.0F,   -1.0F,    0.5F,      -3.0F,
                         1e30F, -1e30F, 1e-45F, INFINITY, -INFINITY, std::nanf("")};

/// An expression over values 0, 1, .. of given facts; each next one is an operator on some before.
class Expression {
 public:
  explicit Expression(std::vector<Facts> given) : facts_(std::move(given)) {
    given_ = facts_.size();
  }

  int apply(Op op, std::vector<int> of) {
    std::vector<Operand> operands;
    for (const int o : of) operands.push_back({std::nullopt, facts_[static_cast<size_t>(o)]});
    const auto number = static_cast<int>(facts_.size());
    facts_.push_back(signed_.apply(op, number, of, operands));
    steps_.push_back({op, std::move(of)});
    return number;
  }
  int constant(float value) {
    const auto number = static_cast<int>(facts_.size());
    facts_.push_back(facts_of_constant(value));
    steps_.push_back({Op::count_, {}});
    constants_.push_back({number, value});
    return number;
  }
  const Facts& facts(int number) const { return facts_[static_cast<size_t>(number)]; }

  /// All values hold what is claimed of them, whatever the given ones are.
  void expect_true() const {
    std::vector<float> values(given_);
    expect_true_from(0, values);
  }

 private:
  struct Step {
    Op op;
    std::vector<int> of;
  };

  void expect_true_from(size_t next, std::vector<float>& values) const {
    if (::testing::Test::HasFatalFailure()) return;
    if (next == given_) return evaluate_all(values);
    for (const float x : kSigned) {
      if (!satisfies(x, facts_[next])) continue;
      values[next] = x;
      expect_true_from(next + 1, values);
    }
  }

  void evaluate_all(const std::vector<float>& given) const {
    std::vector<float> values = given;
    size_t constant = 0;
    for (const Step& step : steps_) {
      std::vector<float> operands;
      for (const int o : step.of) operands.push_back(values[static_cast<size_t>(o)]);
      const bool stated = step.op == Op::count_;
      values.push_back(stated ? constants_[constant++].second : evaluate(step.op, operands));
      ASSERT_TRUE(satisfies(values.back(), facts_[values.size() - 1]))
          << (stated ? "constant" : op_info(step.op).name) << " as value " << values.size() - 1
          << " is " << values.back() << ", of " << given[0] << ", " << given.back();
    }
  }

  std::vector<Facts> facts_;
  std::vector<Step> steps_;
  std::vector<std::pair<int, float>> constants_;
  SignedFacts signed_;
  size_t given_ = 0;
};

Facts finite() {
  Facts facts;
  facts.finite = true;
  return closed(facts);
}

TEST(Sign, SquaresAreNotNegative) {
  Expression e({finite()});
  const int square = e.apply(Op::mul, {0, 0});
  EXPECT_TRUE(e.facts(square).nonnegative);
  const int power = e.apply(Op::pow, {0, e.constant(2)});
  EXPECT_TRUE(e.facts(power).nonnegative);
  const int fourth = e.apply(Op::pow, {0, e.constant(4)});
  EXPECT_TRUE(e.facts(fourth).nonnegative);
  const int cube = e.apply(Op::mul, {square, 0});
  EXPECT_FALSE(e.facts(cube).least >= 0);
  EXPECT_GE(e.facts(e.apply(Op::mul, {cube, 0})).least, 0);
  EXPECT_GE(e.facts(e.apply(Op::max, {0, e.apply(Op::neg, {0})})).least, 0);
  e.expect_true();
}

TEST(Sign, FactorsOfSeveralProductsAreCounted) {
  Facts range = finite();
  range.least = -2;
  range.largest = 3;
  Expression e({closed(range), closed(range)});
  const int xy = e.apply(Op::mul, {0, 1}), yx = e.apply(Op::mul, {1, 0});
  const int square = e.apply(Op::mul, {xy, yx});
  EXPECT_TRUE(e.facts(square).nonnegative && e.facts(square).finite);
  EXPECT_GE(e.facts(e.apply(Op::mul, {e.apply(Op::neg, {xy}), e.apply(Op::neg, {yx})})).least, 0);
  EXPECT_LE(e.facts(e.apply(Op::mul, {e.apply(Op::neg, {0}), 0})).largest, 0);
  EXPECT_GE(e.facts(e.apply(Op::div, {e.apply(Op::div, {square, 0}), 0})).least, 0);
  e.expect_true();
}

/// A factor that may be -0 is not negative, but one over it is: what was left out must not come
/// back as a divisor.
TEST(Sign, AZeroHasASign) {
  Facts nonnegative;
  nonnegative.nonnegative = true;
  Expression e({closed(nonnegative), finite()});
  const int product = e.apply(Op::mul, {0, 1});
  const int quotient = e.apply(Op::div, {1, product});
  EXPECT_FALSE(e.facts(quotient).least >= 0);
  e.expect_true();
}

/// Random expressions of up to eight operators.
TEST(Sign, RandomExpressions) {
  constexpr Op kOps[] = {Op::mul,  Op::mul,        Op::mul,  Op::div,   Op::neg,
                         Op::abs,  Op::max,        Op::min,  Op::tanh,  Op::pow,
                         Op::sign, Op::reciprocal, Op::add,  Op::rsqrt, Op::sub,
                         Op::sqrt, Op::erf,        Op::relu, Op::exp,   Op::softplus};
  const Facts kFacts[] = {{},
                          finite(),
                          closed({.no_nan = true, .nonzero = true}),
                          closed({.nonnegative = true}),
                          closed({.no_nan = true, .least = 0.5F}),
                          closed({.no_nan = true, .largest = 0})};
  std::mt19937 random(1);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  for (int round = 0; round < 3000; ++round) {
    Expression e({kFacts[below(std::size(kFacts))], kFacts[below(std::size(kFacts))]});
    size_t values = 2;
    for (int step = 0; step < 8; ++step) {
      const Op op = kOps[below(std::size(kOps))];
      std::vector<int> of{static_cast<int>(below(values))};
      if (op == Op::pow) {
        of.push_back(e.constant(static_cast<float>(below(9)) - 4));
        ++values;
      } else if (op_info(op).arity == 2) {
        of.push_back(static_cast<int>(below(3) == 0 ? static_cast<size_t>(of[0]) : below(values)));
      }
      e.apply(op, of);
      ++values;
    }
    e.expect_true();
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

}  // namespace
}  // namespace fuseflow
