// The fill calculus against brute force: a claimed constant, or a claimed fact, must hold for every
// admissible value out of a sample that contains the awkward ones.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "ops/op.h"

namespace fuseflow {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kSamples[] = {0.0F,  -0.0F, 1.0F,   -1.0F,  0.5F, 2.0F,  -3.0F,
                          1e30F, 1e38F, -1e38F, 1e-45F, kInf, -kInf, std::nanf("")};

bool admits(const Facts& facts, float x) {
  const Facts of = facts_of_constant(x);
  return (!facts.finite || of.finite) && (!facts.no_nan || of.no_nan) &&
         (!facts.nonnegative || of.nonnegative) && (!facts.nonzero || of.nonzero) &&
         (!facts.below_inf || of.below_inf);
}

Facts facts_from_bits(unsigned bits) {
  Facts facts{(bits & 1U) != 0, (bits & 2U) != 0, (bits & 4U) != 0, (bits & 8U) != 0,
              (bits & 16U) != 0};
  facts.no_nan = facts.no_nan || facts.finite || facts.nonnegative || facts.below_inf;
  facts.below_inf = facts.below_inf || facts.finite;
  return facts;
}

bool identical(float a, float b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}
bool same(float a, float b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

/// Every combination of operands that are constants of the sample or any value with some facts.
void check(Op op, std::vector<Operand> operands) {
  if (::testing::Test::HasFatalFailure()) return;
  const int arity = op_info(op).arity;
  if (static_cast<int>(operands.size()) < arity) {
    for (const float x : kSamples) {
      auto more = operands;
      more.push_back({x, facts_of_constant(x)});
      check(op, more);
    }
    for (unsigned bits = 0; bits < 32; bits += arity == 3 ? 5 : 1) {
      auto more = operands;
      more.push_back({std::nullopt, facts_from_bits(bits)});
      check(op, more);
    }
    return;
  }
  const auto constant = constant_result(op, operands);
  const Facts facts = result_facts(op, operands);
  std::vector<float> values(arity);
  const auto visit = [&](auto&& self, int c) -> void {
    if (c == arity) {
      const float result = evaluate(op, values);
      if (constant) {
        ASSERT_TRUE(same(result, *constant))
            << op_info(op).name << " " << values[0] << " " << result;
      }
      ASSERT_TRUE(admits(facts, result)) << op_info(op).name << " of " << values[0] << ", "
                                         << values.back() << " gives " << result;
      return;
    }
    for (const float x : kSamples) {
      // An absent entry has exactly the fill; a result's zero may differ in sign (documented).
      const bool admitted =
          operands[c].constant ? identical(x, *operands[c].constant) : admits(operands[c].facts, x);
      if (!admitted) continue;
      values[c] = x;
      self(self, c + 1);
    }
  };
  visit(visit, 0);
}

TEST(FillCalculus, ClaimsHoldForAllAdmissibleValues) {
  for (const std::string& name : op_names()) {
    check(*find_op(name), {});
  }
}

TEST(FillCalculus, KnowsTheRulesThatSparsityRestsOn) {
  const Facts finite = facts_from_bits(1);
  const Operand any_finite{std::nullopt, finite};
  const Operand anything{};
  const auto constant = [](float x) { return Operand{x, facts_of_constant(x)}; };
  EXPECT_EQ(constant_result(Op::mul, std::vector<Operand>{constant(0), any_finite}), 0.0F);
  EXPECT_EQ(constant_result(Op::mul, std::vector<Operand>{constant(0), anything}), std::nullopt);
  EXPECT_EQ(constant_result(Op::add, std::vector<Operand>{constant(-kInf), any_finite}), -kInf);
  EXPECT_EQ(constant_result(Op::sub, std::vector<Operand>{constant(-kInf), any_finite}), -kInf);
  EXPECT_EQ(
      constant_result(Op::where, std::vector<Operand>{constant(0), anything, constant(-kInf)}),
      -kInf);
}

TEST(Ops, EvaluateManyAgreesWithEvaluate) {
  for (const std::string& name : op_names()) {
    const Op op = *find_op(name);
    const std::vector<float> a = {0.5F, -2, 3, 0}, b = {1, 2, -0.5F, 4}, c = {7, 8, 9, 10};
    const float* operands[] = {a.data(), b.data(), c.data()};
    const int strides[] = {1, 0, 1};
    std::vector<float> out(4);
    const size_t arity = op_info(op).arity;
    evaluate_many(op, {operands, arity}, {strides, arity}, out.data(), 4);
    for (int i = 0; i < 4; ++i) {
      const float x[] = {a[i], b[0], c[i]};
      EXPECT_TRUE(same(out[i], evaluate(op, {x, arity}))) << name;
    }
  }
}

}  // namespace
}  // namespace fuseflow
