// The fill calculus against brute force: a claimed constant, or a claimed fact, must hold for every
// admissible value out of a sample that contains the awkward ones.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "ops/op.h"
#include "ops/range.h"

namespace fuseflow {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kSamples[] = {0.0F,  -0.0F, 1.0F,   -1.0F,  0.5F, 2.0F,  -3.0F,
                          1e30F, 1e38F, -1e38F, 1e-45F, kInf, -kInf, std::nanf("")};

/// Facts that hold for some of the sample values, by a range alone.
const Facts kRanges[] = {
    {.no_nan = true, .least = std::numeric_limits<float>::lowest()},
    {.no_nan = true, .least = 0.5F},
    {.no_nan = true, .largest = -0.5F},
    {.finite = true, .no_nan = true, .least = -3, .largest = 1},
    {.no_nan = true, .nonzero = true, .largest = 0},
};

Facts facts_from_bits(unsigned bits) {
  Facts facts{(bits & 1U) != 0, (bits & 2U) != 0, (bits & 4U) != 0, (bits & 8U) != 0,
              (bits & 16U) != 0};
  facts.no_nan = facts.no_nan || facts.finite || facts.nonnegative || facts.below_inf;
  facts.below_inf = facts.below_inf || facts.finite;
  return closed(facts);
}

bool identical(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
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
    for (const Facts& range : kRanges) {
      auto more = operands;
      more.push_back({std::nullopt, closed(range)});
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
      ASSERT_TRUE(satisfies(result, facts)) << op_info(op).name << " of " << values[0] << ", "
                                            << values.back() << " gives " << result;
      return;
    }
    for (const float x : kSamples) {
      // An absent entry has exactly the fill; a result's zero may differ in sign (documented).
      const bool admitted = operands[c].constant ? identical(x, *operands[c].constant)
                                                 : satisfies(x, operands[c].facts);
      if (!admitted) continue;
      values[c] = x;
      self(self, c + 1);
    }
  };
  visit(visit, 0);
}

TEST(Rounding, NearestAndTiesToEven) {
  const auto round = [](Op op, float value) { return evaluate(op, {&value, 1}); };
  EXPECT_EQ(round(Op::f16, 0.1F), 0.0999755859375F);
  EXPECT_EQ(round(Op::f16, 2049), 2048);  // half way: to the even one
  EXPECT_EQ(round(Op::f16, 2051), 2052);
  EXPECT_EQ(round(Op::f16, 65519.996F), 65504);
  EXPECT_EQ(round(Op::f16, -65520), -kInf);
  EXPECT_EQ(round(Op::f16, 0x1p-25F), 0);  // half of the least one
  EXPECT_EQ(round(Op::f16, 0x1.8p-25F), 0x1p-24F);
  EXPECT_EQ(round(Op::bf16, 257), 256);
  EXPECT_EQ(round(Op::bf16, 259), 260);
  EXPECT_EQ(round(Op::bf16, 3.4e38F), kInf);
  EXPECT_EQ(round(Op::bf16, 1e-45F), 0);
  for (const Op op : {Op::f16, Op::bf16}) {
    EXPECT_TRUE(std::isnan(round(op, std::nanf(""))));
    EXPECT_EQ(round(op, -kInf), -kInf);
    EXPECT_TRUE(std::signbit(round(op, -1e-45F)));
  }
}

TEST(FillCalculus, ClaimsHoldForAllAdmissibleValues) {
  for (const std::string& name : op_names()) {
    check(*find_op(name), {});
  }
}

/// Operands within ranges: every claim about the result must hold of all admissible samples.
TEST(FillCalculus, RangesHoldForAllOperandsWithinTheirs) {
  const std::vector<std::pair<float, float>> ranges = {
      {-1, 1},     {0, 1},     {0.5F, 2}, {-3, -0.5F}, {1e30F, 1e38F}, {-1e38F, 1e38F},
      {1e-45F, 1}, {-kInf, 0}, {0, kInf}, {2, 2},      {-100, -90}};
  std::vector<float> samples(std::begin(kSamples), std::end(kSamples));
  samples.insert(samples.end(), {0.75F, 1.999F, -2.7F, 3e33F, -95.5F, -100.0F, -90.0F, 1e30F});
  for (const std::string& name : op_names()) {
    const Op op = *find_op(name);
    const int arity = op_info(op).arity;
    std::vector<size_t> chosen(static_cast<size_t>(arity), 0);
    const auto operand = [&](size_t c) {
      Facts facts;
      facts.no_nan = chosen[c] % 2 == 0;
      std::tie(facts.least, facts.largest) = ranges[chosen[c] / 2];
      return closed(facts);
    };
    const auto next = [&](std::vector<size_t>& counters, size_t most) {
      for (size_t c = 0; c < counters.size(); ++c) {
        if (++counters[c] < most) return true;
        counters[c] = 0;
      }
      return false;
    };
    do {
      std::vector<Operand> operands;
      for (size_t c = 0; c < chosen.size(); ++c) operands.push_back({std::nullopt, operand(c)});
      const Facts facts = result_facts(op, operands);
      std::vector<size_t> at(chosen.size(), 0);
      do {
        std::vector<float> values;
        bool admitted = true;
        for (size_t c = 0; c < at.size(); ++c) {
          values.push_back(samples[at[c]]);
          admitted = admitted && satisfies(values.back(), operands[c].facts);
        }
        if (!admitted) continue;
        const float result = evaluate(op, values);
        ASSERT_TRUE(satisfies(result, facts))
            << name << " of " << values[0] << ", " << values.back() << " gives " << result;
      } while (next(at, samples.size()));
    } while (next(chosen, arity == 3 ? 6 : 2 * ranges.size()));
  }
}

TEST(FillCalculus, SumsOfSmallNumbersAreFinite) {
  Facts small;
  small.no_nan = true;
  small.least = -2;
  small.largest = 3;
  const Facts sum = reduced_range(Reduction::sum, closed(small), 1000);
  EXPECT_LE(sum.least, -2000);
  EXPECT_GE(sum.largest, 3000);
  EXPECT_LT(sum.largest, 3001);
  small.least = -1e36F;
  EXPECT_EQ(reduced_range(Reduction::sum, closed(small), 1000).least, -kInf);
  EXPECT_EQ(reduced_range(Reduction::sum, closed(small), -1).largest, kInf);
  EXPECT_EQ(reduced_range(Reduction::max, closed(small), 0).largest, kInf);
}

TEST(FillCalculus, FactsImplyEachOther) {
  Facts facts;
  facts.no_nan = true;
  facts.least = 0.5F;
  facts.largest = 2;
  facts = closed(facts);
  EXPECT_TRUE(facts.finite && facts.nonnegative && facts.nonzero && facts.below_inf);
  EXPECT_TRUE(satisfies(0.5F, facts) && satisfies(2, facts));
  EXPECT_FALSE(satisfies(0.25F, facts) || satisfies(std::nanf(""), facts));
  Facts finite;
  finite.finite = true;
  EXPECT_EQ(closed(finite).largest, std::numeric_limits<float>::max());
  EXPECT_FALSE(joined(finite, facts).largest > 2);
  EXPECT_FALSE(both(closed(finite), facts).nonzero);
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
  EXPECT_EQ(constant_result(Op::add, std::vector<Operand>{constant(kInf), any_finite}), kInf);
  EXPECT_EQ(constant_result(Op::add, std::vector<Operand>{constant(kInf), anything}), std::nullopt);
  EXPECT_EQ(constant_result(Op::sub, std::vector<Operand>{any_finite, constant(kInf)}), -kInf);
  Facts positive;
  positive.nonnegative = positive.nonzero = true;
  const Operand any_positive{std::nullopt, closed(positive)};
  EXPECT_EQ(constant_result(Op::mul, std::vector<Operand>{constant(kInf), any_positive}), kInf);
  EXPECT_EQ(constant_result(Op::min, std::vector<Operand>{constant(0), any_positive}), 0.0F);
  EXPECT_EQ(constant_result(Op::min, std::vector<Operand>{constant(0), any_finite}), std::nullopt);
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
