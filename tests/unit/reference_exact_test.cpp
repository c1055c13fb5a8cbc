// What no order of sums changes, and so must be equal: of tensors as a whole, of elements by their
// bounds.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "ir/parse.h"
#include "reference/reference.h"
#include "reference/rounding.h"
#include "reference/selection.h"
#include "reference_run.h"

namespace fuseflow {
namespace {

using reference::Grid;
using reference::grid_of;
using reference::order_is_free;

/// Whether %y of the body is fixed, %x being `values`.
bool fixed(const std::string& values, const std::string& body) {
  return run("input %x: f32[2, 4] dense,dense = values(" + values +
             ")\nresult %y: f32[2, 4] dense,dense\nregion @y {\n  %y[i, j] = " + body + "\n}\n")
      .back()
      .fixed;
}

TEST(Exact, AGridIsTheLargestPowerOfTwoThatAllAreMultiplesOf) {
  const auto grid = [](std::vector<float> values) { return grid_of(values); };
  EXPECT_EQ(grid({6, -4, 0}).step, 1);
  EXPECT_EQ(grid({6, -4, 0}).largest, 6);
  EXPECT_EQ(grid({0.75F, 2}).step, -2);
  EXPECT_EQ(grid({0x1p-149F}).step, -149);
  EXPECT_EQ(grid({0, 0}).largest, 0);
  EXPECT_TRUE(std::isinf(grid({1, NAN}).largest));
}

TEST(Exact, AnOrderIsFreeUpTo2To24Steps) {
  const std::vector<Grid> one = {{0, 4096}};
  EXPECT_TRUE(order_is_free(one, 4096));
  EXPECT_FALSE(order_is_free(one, 4097));
  const std::vector<Grid> two = {{-2, 64}, {3, 64}};  // steps of 2, up to 4096 a term
  EXPECT_TRUE(order_is_free(two, 8192));
  EXPECT_FALSE(order_is_free(two, 8193));
  EXPECT_FALSE(order_is_free(std::vector<Grid>{{127, 0x1p127}}, 2));  // overflows
  EXPECT_FALSE(order_is_free(std::vector<Grid>{{-149, 1}}, 2));
}

TEST(Exact, SumsOfWholeNumbersAreFixedAndOthersAreNot) {
  const char* const whole = "1,-2,3,4, 5,6,7,8";
  const char* const other = "0.1,-2,3,4, 5,6,7,8";
  EXPECT_TRUE(fixed(whole, "%x[i, j] * sum(k) %x[i, k]"));
  EXPECT_FALSE(fixed(other, "%x[i, j] * sum(k) %x[i, k]"));
  EXPECT_FALSE(fixed("16777216,1,1,1, 1,1,1,1", "sum(k) %x[i, k] + %x[i, j]"));
  EXPECT_TRUE(fixed(other, "max(%x[i, j], 1) / 3"));
  EXPECT_TRUE(fixed(other, "where(%x[i, j] > 1, %x[i, j], max(k) %x[i, k])"));
  EXPECT_TRUE(fixed(whole, "prod(k) %x[i, k] + %x[i, j]"));
  EXPECT_FALSE(fixed(other, "prod(k) %x[i, k] + %x[i, j]"));
  EXPECT_TRUE(fixed(whole, "mean(k:3) %x[i, k] + %x[i, j]"));
  EXPECT_FALSE(fixed(other, "mean(k) %x[i, k] + %x[i, j]"));
  EXPECT_FALSE(fixed(whole, "exp(%x[i, j])"));  // not correctly rounded
}

TEST(Exact, WhatIsStoredAndReadBackIsFixedIfItsTypeHoldsIt) {
  const auto of_type = [](const std::string& type) {
    return run("input %x: f32[2] dense = values(2049, 1)\ntemp %t: " + type +
               "[2] dense\nresult %y: f32[2] dense\nregion @t {\n  %t[i] = %x[i]\n}\n"
               "region @y {\n  %y[i] = %t[i] + 1\n}\n")
        .back();
  };
  EXPECT_EQ(*of_type("f32").dense, (std::vector<float>{2050, 2}));
  EXPECT_EQ(*of_type("f16").dense, (std::vector<float>{2049, 2}));  // rounded once, by everyone
  EXPECT_TRUE(of_type("f16").fixed);
}

/// A rank: an element is not larger than itself, however it moves.
TEST(Exact, AnElementIsComparedWithItself) {
  const Value rank = run_with_bounds(R"(
input %a: f32[1, 3] dense,dense = values(0.1, 0.2, 0.3)
input %b: f32[3, 3] dense,dense = values(1, 2, 3, 0.3, 0.9, 0.7, 0.4, 0.1, 0.8)
temp %s: f32[1, 3] dense,dense
result %r: f32[1, 3] dense,dense
region @r {
  %s[i, j] = sum(k) %a[i, k] * %b[k, j]
  %r[i, j] = sum(k) (%s[i, k] > %s[i, j])
})")
                         .back();
  EXPECT_EQ(rank.bounds, nullptr);
  EXPECT_EQ(rank.undecided, 0);
}

constexpr const char* kLargest = R"(
input %a: f32[3, 3] dense,dense = values(0.1,0.2,0.3, 0.3,0.1,0.1, 0.7,0.7,0.1)
input %b: f32[3, 3] dense,dense = values(0.3,0.9,0.6, 0.4,0.1,0.2, 0.8,0.7,0.7)
temp %s: f32[3, 3] dense,dense
temp %top: f32[3] dense
result %g: f32[3, 3] dense,dense
region @g {
  %s[i, j] = sum(k) %a[i, k] * %b[k, j]
  %top[i] = max(j) %s[i, j]
  %g[i, j] = %s[i, j] == %top[i]
})";

/// The largest of sums is one of them to the last bit, unless two are within rounding.
TEST(Exact, TheLargestIsTheElementThatItIs) {
  const std::vector<Value> values = run_with_bounds(kLargest);
  const Value& gate = values.back();
  ASSERT_NE(values[3].selection, nullptr);
  EXPECT_EQ(values[3].selection->certain, (std::vector<uint8_t>{1, 1, 1}));
  EXPECT_EQ(gate.bounds, nullptr);
  std::string tied = kLargest;
  tied.replace(tied.find("0.3,0.9,0.6"), 11, "0.9,0.9,0.5");
  tied.replace(tied.find("0.4,0.1,0.2"), 11, "0.1,0.1,0.2");
  tied.replace(tied.find("0.8,0.7,0.7"), 11, "0.7,0.7,0.7");
  const std::vector<Value> alike = run_with_bounds(tied);
  ASSERT_NE(alike[3].selection, nullptr);
  EXPECT_EQ(alike[3].selection->certain[0], 0);
  EXPECT_GT(alike.back().undecided, 0);
}

TEST(Exact, AMeanOfNothingIsNaN) {
  const Value y = run(R"(
input %x: f32[2, 0] dense,dense = values()
result %y: f32[2] dense
region @y {
  %y[i] = mean(j) %x[i, j]
})")
                      .back();
  EXPECT_TRUE(std::isnan(y.dense->at(0)) && std::isnan(y.dense->at(1)));
}

/// What equals the fill of a tensor that may leave entries out is stored as the fill.
TEST(Exact, MinusZeroIsLostWhereEntriesMayBeAbsent) {
  const auto inverse = [](const std::string& format) {
    const Value y = run("input %a: f32[2] dense = values(0, 4)\ntemp %n: f32[2] " + format +
                        "\nresult %y: f32[2] dense\nregion @n {\n  %n[i] = -%a[i]\n}\n"
                        "region @y {\n  %y[i] = 1 / %n[i]\n}\n")
                        .back();
    return y.dense->at(0);
  };
  EXPECT_EQ(inverse("dense"), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(inverse("compressed"), std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace fuseflow
