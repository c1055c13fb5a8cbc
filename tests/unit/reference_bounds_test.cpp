// How far values may move by rounding: operators, stored types and sums, against values worked out
// by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ir/parse.h"
#include "reference/reference.h"
#include "reference/rounding.h"
#include "reference_run.h"

namespace fuseflow {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kUlps = 0x1p-23F;  // two roundings of one operation, relative

/// How far op(x) may move where x[c] may move by r[c].
float moved(Op op, std::vector<float> x, std::vector<float> r) {
  return reference::moved(op, x, r, evaluate(op, x));
}

TEST(Bounds, ExactOperandsMoveNothing) {
  EXPECT_EQ(moved(Op::add, {1, 2}, {0, 0}), 0);
  EXPECT_EQ(moved(Op::div, {1, 0}, {0, 0}), 0);  // infinite, and exactly so
  EXPECT_EQ(moved(Op::exp, {3}, {0}), 0);
}

TEST(Bounds, AResultMovesAsFarAsTheFarthestCorner) {
  EXPECT_EQ(moved(Op::add, {1, 2}, {0.5F, 0.25F}), 0.75F + kUlps * 3);
  EXPECT_EQ(moved(Op::sub, {1, 2}, {0.5F, 0.25F}), 0.75F + kUlps * 1);
  EXPECT_EQ(moved(Op::mul, {2, 4}, {0.5F, 1}), 4.5F + kUlps * 8);  // 2.5 x 5 against 8
  EXPECT_EQ(moved(Op::mul, {2, 4}, {0, 1}), 2 + kUlps * 8);
  EXPECT_EQ(moved(Op::neg, {3}, {0.5F}), 0.5F);  // does not round
  EXPECT_EQ(moved(Op::max, {1, 3}, {4, 0.25F}), 2);
  EXPECT_EQ(moved(Op::relu, {-1}, {0.5F}), 0);
  EXPECT_EQ(moved(Op::relu, {-1}, {1.5F}), 0.5F);
}

/// A masked score: -inf however far the row's largest may move, and so is its exponential 0.
TEST(Bounds, WhatIsInfiniteDoesNotRound) {
  EXPECT_EQ(moved(Op::sub, {-kInfinity, 3}, {0, 0.5F}), 0);
  EXPECT_EQ(moved(Op::mul, {-kInfinity, 3}, {0, 0.5F}), 0);
  EXPECT_EQ(moved(Op::add, {1e38F, 2.5e38F}, {0, 2e37F}), kInfinity);  // finite at one end
}

TEST(Bounds, APoleWithinReachIsInfinite) {
  EXPECT_EQ(moved(Op::reciprocal, {1}, {1}), kInfinity);  // 0 is one of the ends
  EXPECT_EQ(moved(Op::reciprocal, {-1}, {1.5F}), kInfinity);
  EXPECT_EQ(moved(Op::reciprocal, {2}, {1}), 0.5F + kUlps / 2);
  EXPECT_EQ(moved(Op::rsqrt, {1}, {2}), kInfinity);
  EXPECT_EQ(moved(Op::div, {1, 1}, {0, 1}), kInfinity);
  EXPECT_EQ(moved(Op::div, {1, 2}, {0, 1}), 0.5F + kUlps / 2);
  EXPECT_EQ(moved(Op::div, {1, 1}, {5, 0}), 5 + kUlps);  // the numerator has no pole
  EXPECT_EQ(moved(Op::mod, {5, 1}, {0, 2}), kInfinity);
}

TEST(Bounds, AComparisonIsUndecidedWithinTheSumOfBothRanges) {
  EXPECT_EQ(moved(Op::eq, {1, 2}, {0.5F, 0.5F}), 1);
  EXPECT_EQ(moved(Op::eq, {1, 2}, {0.5F, 0.25F}), 0);
  EXPECT_EQ(moved(Op::ne, {1, 2}, {0, 1}), 1);
  EXPECT_EQ(moved(Op::ne, {2, 2}, {0.125F, 0}), 1);
  EXPECT_EQ(moved(Op::gt, {1, 2}, {0.5F, 0.25F}), 0);
  EXPECT_EQ(moved(Op::gt, {1, 2}, {0.75F, 0.5F}), 1);
}

/// The result at the ends of a range says nothing of where the operator turns or jumps within it.
TEST(Bounds, AnOperatorMayBeFarthestWithinARange) {
  EXPECT_EQ(moved(Op::logical_not, {1}, {2}), 1);
  EXPECT_EQ(moved(Op::logical_not, {3}, {2}), 0);
  EXPECT_EQ(moved(Op::logical_and, {1, 1}, {2, 0}), 1);
  EXPECT_EQ(moved(Op::logical_xor, {1, 1}, {0, 2}), 1);
  EXPECT_EQ(moved(Op::where, {1, 5, 7}, {2, 0, 0}), 2);
  EXPECT_EQ(moved(Op::where, {1, 5, 7}, {0, 0, 3}), 0);
  EXPECT_EQ(moved(Op::abs, {1}, {2}), 2);
  EXPECT_EQ(moved(Op::abs, {0.5F}, {1.5F}), 1.5F);
  EXPECT_EQ(moved(Op::pow, {1, 2}, {1.25F, 0}), 4.0625F + kUlps);
  EXPECT_EQ(moved(Op::pow, {1, -2}, {2, 0}), kInfinity);
  EXPECT_NEAR(moved(Op::silu, {-1.27846F}, {0.5F}), 0.0335F, 1e-4F);
  EXPECT_NEAR(moved(Op::silu, {-3}, {2.5F}), 0.1362F, 1e-4F);  // the least, -0.2785
  EXPECT_EQ(reference::stored_bound(1, 2, ElementType::boolean, false), 1);
}

TEST(Bounds, WhatRepeatsItselfMovesByAllOfItsRange) {
  EXPECT_EQ(moved(Op::cos, {0}, {100}), 2 + kUlps);
  EXPECT_EQ(moved(Op::cos, {0}, {0.25F}), 0.25F + kUlps);
  EXPECT_EQ(moved(Op::mod, {100, 3}, {0.5F, 0}), 0.5F + kUlps);
  EXPECT_EQ(moved(Op::mod, {100, 3}, {3, 0}), 3 + kUlps);
  EXPECT_EQ(moved(Op::mod, {100, 3}, {2, 0}), 3 + kUlps);
}

TEST(Bounds, WhatMayBeAnythingMakesAnythingButATruthValue) {
  EXPECT_EQ(moved(Op::sigmoid, {1}, {kInfinity}), kInfinity);
  EXPECT_EQ(moved(Op::logical_not, {std::nanf("")}, {kInfinity}), 1);
  EXPECT_EQ(moved(Op::logical_and, {0, 1}, {0, kInfinity}), 0);
  EXPECT_EQ(moved(Op::where, {0, 1, 2}, {0, kInfinity, 0}), 0);
  EXPECT_EQ(moved(Op::where, {1, 1, 2}, {0, kInfinity, 0}), kInfinity);
}

TEST(Bounds, AStoredValueMovesToTheNeighbourThatIsInReach) {
  using reference::stored_bound;
  EXPECT_EQ(stored_bound(1.4F, 0, ElementType::i8, false), 0);
  EXPECT_EQ(stored_bound(1.4F, 0.25F, ElementType::i8, false), 1);  // 1.65 is stored as 2
  EXPECT_EQ(stored_bound(1.6F, 0.25F, ElementType::i8, false), 1);  // 1.35 is stored as 1
  EXPECT_EQ(stored_bound(1.4F, 0.05F, ElementType::i8, false), 0);
  EXPECT_EQ(stored_bound(1.5F, 0, ElementType::i8, true), 0.5F);  // or left as it was
  EXPECT_EQ(stored_bound(1.25F, 0.125F, ElementType::i8, true), 0.375F);
  EXPECT_EQ(stored_bound(1, kInfinity, ElementType::i8, false), kInfinity);
}

/// The bound of each row of a sum of 4 terms that are not all exact multiples.
std::vector<float> bounds_of_sums(const std::string& rows, int count, const std::string& body) {
  const Value y =
      run_with_bounds(fmt::format("input %x: f32[{0}, 4] dense,dense = values({1})\n"
                                  "result %y: f32[{0}] dense\nregion @y {{\n  %y[i] = {2}\n}}\n",
                                  count, rows, body))
          .back();
  return y.bounds ? *y.bounds : std::vector<float>(static_cast<size_t>(count));
}

TEST(Bounds, ASumMovesByTheRoundingsOfItsTerms) {
  // n - 1 additions, twice 2^-24 of the sum of magnitudes each; none where one term is present, or
  // where all are whole numbers.
  const std::vector<float> b = bounds_of_sums(
      "1.5,-2,3,0.5, 1,0,0,0, 0.1,0,0,0, 5.5,4.5,0,0, 1,-2,3,1", 5, "sum(j) %x[i, j]");
  EXPECT_EQ(b, (std::vector<float>{3 * kUlps * 7, 0, 0, kUlps * 10, 0}));
  // One more rounding a term where two factors are multiplied.
  EXPECT_EQ(bounds_of_sums("1.5,-2,3,0.5, 3,0,0,0, 0.1,0,0,0", 3, "sum(j) %x[i, j] * %x[i, j]"),
            (std::vector<float>{4 * kUlps * 15.5F, 0, 0}));
}

/// Equal terms are rounded in one direction, others in random ones.
TEST(Bounds, ASumOfEqualTermsMovesByAllOfItsRoundings) {
  const auto bound_of = [](const std::string& values) {
    const Value y = run_with_bounds("input %x: f32[40000] dense = " + values +
                                    "\nresult %y: f32[] scalar\nregion @y { %y = sum(i) %x[i] }\n")
                        .back();
    return y.bounds->front();
  };
  EXPECT_NEAR(bound_of("constant(value=0.1)"), 39999 * kUlps * 4000, 1);
  EXPECT_LT(bound_of("uniform(density=1,values=uniform(0.09,0.11),seed=1)"), 1);
}

/// Partial sums overflow in one order of the terms, and not in another.
TEST(Bounds, ASumThatMayOverflowHasNoBound) {
  const char* const rows =
      "3e38,3e38,-3e38,0, 1.5,2,3,3.5, 3e38,3e38,3e38,3e38, 3e38,3e38,3e38,-3e38";
  const std::vector<float> sums = bounds_of_sums(rows, 4, "sum(j) %x[i, j]");
  EXPECT_EQ(sums[0], kInfinity);
  EXPECT_EQ(sums[1], 3 * kUlps * 10);
  EXPECT_EQ(sums[2], 0);  // overflows in every order
  EXPECT_EQ(sums[3], kInfinity);
  // A mean is divided at the end, so that what it adds up may overflow.
  const std::vector<float> means = bounds_of_sums(rows, 4, "mean(j) %x[i, j]");
  EXPECT_EQ(means[0], kInfinity);
  EXPECT_LT(means[1], 1e-5F);
  EXPECT_EQ(means[2], 0);
}

/// The product of the first two factors overflows, that of all three does not.
TEST(Bounds, AProductThatMayOverflowOnTheWayHasNoBound) {
  const std::vector<float> products = bounds_of_sums(
      "1e30,1,1,1, 1e10,1,1,1", 2, "sum(j) %x[i, j] * %x[i, j] * reciprocal(%x[i, j])");
  EXPECT_EQ(products[0], kInfinity);
  EXPECT_LT(products[1], 1e5F);
}

TEST(Bounds, AnInfiniteSumMovesOnlyWhereAFiniteTermMay) {
  const std::vector<float> b =
      bounds_of_sums("inf,1,2,3, inf,inf,1,1, -inf,inf,0,0", 3, "sum(j) %x[i, j]");
  EXPECT_EQ(b, (std::vector<float>{0, 0, 0}));  // exact terms
  // A factor that may move may make an infinite product any number.
  const std::vector<float> of_products =
      bounds_of_sums("inf,1,2,3, 1,1,1,1", 2, "sum(j) %x[i, j] * (sum(k:3) %x[i, j] * 0.1)");
  EXPECT_EQ(of_products[0], kInfinity);
  EXPECT_TRUE(std::isfinite(of_products[1]));
  EXPECT_GT(of_products[1], 0);
}

/// What is added to an infinite term may move as long as it is finite: here by rounding, and next
/// to a pole (0.1 three times is 0.3 or nearly so), where -inf is within reach.
TEST(Bounds, AnInfiniteSumMovesWhereATermMayBecomeInfinite) {
  const std::string rows = "inf,1,2,3";
  EXPECT_EQ(bounds_of_sums(rows, 1, "sum(j) (%x[i, j] + (sum(k:3) %x[i, j] * 0.1))"),
            (std::vector<float>{0}));
  EXPECT_EQ(bounds_of_sums(rows, 1,
                           "sum(j) (%x[i, j] + reciprocal((sum(k:3) %x[i, j] * 0.1) - 0.3000001))"),
            (std::vector<float>{kInfinity}));
}

TEST(Bounds, AMaximumMovesAsFarAsItsCandidates) {
  const std::vector<float> b =
      bounds_of_sums("1,2,3,4, 4,4,4,4", 2, "max(j) (sum(k:3) %x[i, j] * 0.1)");
  const std::vector<float> terms =
      bounds_of_sums("4,0,0,0, 4,0,0,0", 2, "sum(j, k:3) %x[i, j] * 0.1");
  ASSERT_GT(b[0], 0);
  EXPECT_EQ(b[0], b[1]);
  EXPECT_LE(b[0], 2 * terms[0]);
}

constexpr const char* kScaled = R"(
input %s: f32[7, 9] dense,compressed = uniform(density=0.2, seed=3)
input %z: f32[9, 5] dense,dense facts(finite) = uniform(density=1, seed=2)
result %y: f32[7, 9, 5] compressed,compressed,dense
region @y {
  %y[i, k, j] = %s[i, k] * (sum(m:3) %z[k, j] * 0.1)
})";

/// Bounds other than 0, in ascending order: of a dense value and of a sparse one alike.
std::vector<float> moving(const Value& value) {
  std::vector<float> bounds;
  for (const float b : *value.bounds) {
    if (b != 0) bounds.push_back(b);
  }
  std::sort(bounds.begin(), bounds.end());
  return bounds;
}

TEST(Bounds, AreTheSameHoweverPointsAreVisited) {
  ReferenceOptions options;
  options.visit = Visit::all;
  const Value all = run_with_bounds(kScaled, options).back();
  options.visit = Visit::fewer;
  const Value fewer = run_with_bounds(kScaled, options).back();
  options.max_elements = 100;  // points in blocks, the result sparse
  const Value blocks = run_with_bounds(kScaled, options).back();
  ASSERT_NE(blocks.sparse, nullptr);
  for (int64_t n = 0; n < int64_t{7} * 9 * 5; ++n) {
    const std::vector<int64_t> at = {n / 45, n / 5 % 9, n % 5};
    EXPECT_EQ(all.at(at), fewer.at(at));
    EXPECT_EQ(all.at(at), blocks.at(at));
  }
  EXPECT_GT(moving(all).size(), 10U);
  EXPECT_EQ(moving(all), moving(fewer));
  EXPECT_EQ(moving(all), moving(blocks));
}

}  // namespace
}  // namespace fuseflow
