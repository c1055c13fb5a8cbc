// The reference evaluation against values worked out by hand, and its fast paths against the plain
// one.
#include "reference/reference.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "ir/parse.h"
#include "reference/walk.h"
#include "reference_run.h"

namespace fuseflow {
namespace {

std::vector<float> last(const std::vector<Value>& values) {
  return values.back().dense ? *values.back().dense : to_dense(*values.back().sparse);
}

constexpr const char* kMatrices = R"(
input %a: f32[2, 3] dense,compressed = values(1, 0, 2, 0, 0, 3)
input %d: f32[2, 3] dense,dense = values(1, 0, 2, 0, 0, 3)
input %b: f32[3, 2] dense,dense = values(1, 2, 3, 4, 5, 6)
)";

TEST(Reference, SparseProductEqualsDenseProduct) {
  const auto text = [](const std::string& a) {
    return std::string(kMatrices) +
           "result %y: f32[2, 2] dense,dense\nregion @y {\n%y[i, k] = sum(j) " + a +
           "[i, j] * %b[j, k]\n}\n";
  };
  const std::vector<float> expected = {11, 14, 15, 18};
  EXPECT_EQ(last(run(text("%a"))), expected);
  EXPECT_EQ(last(run(text("%d"))), expected);
}

TEST(Reference, TransposedResultAndBroadcast) {
  EXPECT_EQ(last(run(std::string(kMatrices) + R"(
result %y: f32[3, 2] dense,dense
region @y {
  %y[j, i] = relu(%a[i, j] - 1) + 1
})")),
            (std::vector<float>{1, 1, 1, 1, 2, 3}));
}

TEST(Reference, ReductionsOfAbsentAndOfNothing) {
  EXPECT_EQ(last(run(std::string(kMatrices) + R"(
result %y: f32[2] dense
region @y {
  %y[i] = max(j) (%a[i, j] - 2)
})")),
            (std::vector<float>{0, 1}));
  EXPECT_EQ(last(run(R"(
input %e: f32[2, 0] dense,dense = values()
result %y: f32[2] dense
region @y {
  %y[i] = max(j) %e[i, j]
})")),
            std::vector<float>(2, -std::numeric_limits<float>::infinity()));
}

TEST(Reference, InfinityInAFactorDisablesTheSparsePath) {
  const auto y = last(run(R"(
input %a: f32[1, 2] dense,compressed = values(0, 1)
input %b: f32[2] dense = values(inf, 1)
result %y: f32[1] dense
region @y {
  %y[i] = sum(j) %a[i, j] * %b[j]
})"));
  EXPECT_TRUE(std::isnan(y[0]));
}

TEST(Reference, AnInfiniteFactorIsMultipliedTermByTerm) {
  EXPECT_TRUE(std::isnan(last(run(R"(
input %a: f32[2] dense = values(1, 1)
input %b: f32[2] dense = values(1, 0)
result %y: f32[] scalar
region @y {
  %y = sum(i) %a[i] * %b[i] * -inf
})"))[0]));
}

TEST(Reference, SubscriptsOutsideReadTheFill) {
  EXPECT_EQ(last(run(R"(
input %x: f32[3] dense fill(7) = values(1, 2, 3)
result %y: f32[4] dense
region @y {
  %y[i] = %x[2*i - 1]
})")),
            (std::vector<float>{7, 2, 7, 7}));
}

TEST(Reference, BlockingDoesNotChangeResults) {
  const std::string text = std::string(kMatrices) + R"(
result %y: f32[2, 2] dense,dense
region @y {
  %y[i, k] = max(j) exp(%d[i, j] + %b[j, k])
})";
  EXPECT_EQ(last(run(text)), last(run(text, {.threads = 1, .max_elements = 5, .on_result = {}})));
}

TEST(Reference, ASparseFactorTooLargeToSpellOutDrives) {
  // %g has 16 elements, %x 8, which is all that may be spelled out; once %g has fewer entries, once
  // %x.
  const std::string text = R"(
input %g: f32[4, 4] dense,compressed = values(0,0,2,0,0,0,0,0,1,0,0,0,0,0,0,0)
input %x: f32[4, 2] dense,compressed = values(1,2, 3,0, 0,5, 6,7)
result %y: f32[4, 2] dense,dense
region @y {
  %y[i, f] = sum(k) %g[i, k] * %x[k, f]
})";
  const std::vector<float> expected = {0, 10, 0, 0, 1, 2, 0, 0};
  EXPECT_EQ(last(run(text)), expected);
  EXPECT_EQ(last(run(text, {.threads = 1, .max_elements = 8, .on_result = {}})), expected);
  std::string other = text;  // now the entries are in %g
  other.replace(other.find("0,0,2,0,0,0,0,0,1,0,0,0,0,0,0,0"), 31,
                "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1");
  const std::vector<float> sums = {10, 14, 10, 14, 10, 14, 10, 14};
  EXPECT_EQ(last(run(other, {.threads = 1, .max_elements = 8, .on_result = {}})), sums);
}

Value value(std::vector<float> x) {
  return Value{{static_cast<int64_t>(x.size())},
               std::make_shared<const std::vector<float>>(std::move(x)),
               nullptr};
}

Value with_bounds(const std::string& text) {
  ReferenceOptions options;
  options.bounds = true;
  return run(text, options).back();
}

// What follows compares with values that are off by hand: as a simulator that sums otherwise would
// be, or as a wrong one would be.
Value moved_by(const Value& value, double relative, double absolute) {
  std::vector<float> values = *value.dense;
  for (float& x : values) x = static_cast<float>(x + relative * x + absolute);
  return Value{value.shape, std::make_shared<const std::vector<float>>(values), nullptr};
}

TEST(Rounding, SumsInAnyOrderStayWithinTheirBounds) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (const int n : {2, 17, 300, 5000}) {
    std::string list;
    std::vector<float> terms;
    for (int i = 0; i < n; ++i) {
      terms.push_back(uniform(random));
      list += (i > 0 ? "," : "") + fmt::format("{}", terms.back());
    }
    const Value y = with_bounds(fmt::format(
        "input %x: f32[{}] dense = values({})\nresult %y: f32[1] dense\nregion @y {{\n%y[i:1] = "
        "sum(j) %x[j] * %x[j] * %x[j]\n}}\n",
        n, list));
    for (int order = 0; order < 20; ++order) {
      std::shuffle(terms.begin(), terms.end(), random);
      float sum = 0;
      for (const float x : terms) sum += x * x * x;
      EXPECT_LE(std::fabs(sum - y.dense->front()), y.bounds->front()) << n;
    }
    EXPECT_LT(y.bounds->front(), 1e-4F * static_cast<float>(n)) << n;
  }
}

constexpr const char* kCancels = R"(
input %x: f32[4] dense = values(0.1, 0.7, 0.3, 0.9)
result %y: f32[4] dense
region @y {
  %y[i] = mean(k:7) (%x[i]) - %x[i]
})";

TEST(Rounding, WhatASumLeavesOfItsTermsIsExcused) {
  const Value y = with_bounds(kCancels);
  EXPECT_FALSE(compare(moved_by(y, 0, 6e-8), run(kCancels).back()).passes(1e-4));
  const Comparison rounded = compare(moved_by(y, 0, 6e-8), y, 1e-4);
  EXPECT_TRUE(rounded.passes(1e-4));
  EXPECT_EQ(rounded.excused, 4);
  EXPECT_EQ(rounded.max_abs_error, 0);
  const Comparison wrong = compare(moved_by(y, 0, 1e-4), y, 1e-4);  // far from rounding
  EXPECT_FALSE(wrong.passes(1e-4));
  EXPECT_EQ(wrong.excused, 0);
}

TEST(Rounding, AnUndecidedComparisonExcusesBothOutcomesAndNoOther) {
  const Value y = with_bounds(R"(
input %x: f32[3] dense = values(0.1, 0.7, 0.3)
input %z: f32[3] dense = values(0, 5, 0)
result %y: f32[3] dense
region @y {
  %y[i] = where(mean(k:7) (%x[i]) + %z[i] > %x[i], 10, 20)
})");
  EXPECT_EQ(y.undecided, 2);
  EXPECT_EQ(y.bounds->at(1), 0);  // 5 above
  const auto passes = [&](std::vector<float> x) {
    return compare(value(std::move(x)), y, 1e-4).passes(1e-4);
  };
  EXPECT_TRUE(passes({10, 10, 20}));
  EXPECT_TRUE(passes({20, 10, 10}));
  EXPECT_FALSE(passes({10, 20, 10}));
  EXPECT_FALSE(passes({10, 10, 31}));
}

TEST(Rounding, ElementwiseWorkOnExactValuesMovesNothing) {
  const Value y = with_bounds(R"(
input %x: f32[4] dense = values(0.1, -0.7, 0, inf)
result %y: f32[4] dense
region @y {
  %y[i] = where(%x[i] > 0, exp(%x[i]) / 3, %x[i] == 0)
})");
  EXPECT_TRUE(y.bounds == nullptr ||
              std::all_of(y.bounds->begin(), y.bounds->end(), [](float b) { return b == 0; }));
}

TEST(Rounding, APoleThatMayBePassedExcusesAnything) {
  const Value y = with_bounds(R"(
input %x: f32[2] dense = values(0.1, 0.7)
input %z: f32[2] dense = values(0, 1)
result %y: f32[2] dense
region @y {
  %y[i] = 1 / (mean(k:7) (%x[i]) - %x[i] + %z[i])
})");
  EXPECT_TRUE(std::isinf(y.bounds->at(0)));
  EXPECT_LT(y.bounds->at(1), 1e-5F);
}

constexpr const char* kEdges = R"(
input %s: f32[2000, 2000] dense,compressed = uniform(density=0.001, seed=1)
input %z: f32[2000, 3] dense,dense = uniform(density=1, seed=2)
result %y: f32[2000, 3] dense,dense
region @y {
  %y[i, j] = sum(k) where(%s[i, k], exp(%z[k, j]), 0)
})";

/// Keeps in `points` how many were visited.
ReferenceOptions counting(int64_t& points) {
  ReferenceOptions options;
  options.stop = [&points](const ReferenceProgress& at) {
    points = at.points;
    return std::string();
  };
  return options;
}

TEST(Reference, PresentPointsAloneAreVisited) {
  int64_t points = 0;
  ReferenceOptions options = counting(points);
  const std::vector<float> present = last(run(kEdges, options));
  EXPECT_LT(points, 300'000);  // of 12 million
  options.visit = Visit::all;
  EXPECT_EQ(last(run(kEdges, options)), present);
  EXPECT_GT(points, 12'000'000);
}

/// What is not selected may be anything there.
constexpr const char* kSelection = R"(
input %a: bool[1500, 2000] dense,compressed = uniform(density=0.01, seed=1)
input %b: f32[1500, 2000] dense,compressed = uniform(density=0.02, seed=2)
input %x: f32[1500] dense = uniform(density=1, seed=3)
input %z: f32[2000] dense = uniform(density=0.5, seed=4)
result %y: f32[1500, 2000] dense,dense
region @y {
  %y[i, j] = where(%a[i, j], where(%b[i, j] > 0.5, %x[i] / %z[j], log(%x[i] - %z[j])), %b[i, j])
})";

TEST(Reference, WhatIsNotSelectedIsNotVisited) {
  int64_t points = 0;
  ReferenceOptions options = counting(points);
  const std::vector<float> fewer = last(run(kSelection, options));
  EXPECT_LT(points, 4'000'000);  // those of the result are 3 million
  const auto bits = [](const std::vector<float>& values) {
    std::vector<uint32_t> result;
    result.reserve(values.size());
    for (const float v : values) result.push_back(std::isnan(v) ? 1 : std::bit_cast<uint32_t>(v));
    return result;
  };
  options.visit = Visit::all;
  EXPECT_EQ(bits(last(run(kSelection, options))), bits(fewer));
  EXPECT_GT(points, 12'000'000);
}

TEST(Reference, ValuesHaveTheFactsThatNoneOfThemContradicts) {
  const auto none_but = [](std::initializer_list<float> values) {
    return reference::facts_of(std::vector<float>(values));
  };
  EXPECT_EQ(none_but({1, 2}), (Facts{true, true, true, true, true}));
  EXPECT_TRUE(none_but({1, -2}).finite && !none_but({1, -2}).nonnegative);
  EXPECT_TRUE(none_but({1, 0}).nonnegative && !none_but({1, 0}).nonzero);
  EXPECT_TRUE(none_but({-INFINITY, 1}).below_inf && !none_but({-INFINITY, 1}).finite);
  EXPECT_TRUE(none_but({INFINITY}).no_nan && !none_but({INFINITY}).below_inf);
  EXPECT_FALSE(none_but({NAN, 1}).no_nan);
}

TEST(Reference, FactsThatTheDataContradictSkipNothing) {
  const auto y = last(run(R"(
input %a: f32[1, 4] dense,compressed = values(0, 1, 0, 0)
input %b: f32[4] dense facts(finite) = values(inf, 1, 1, 1)
result %y: f32[1, 4] dense,dense
region @y {
  %y[i, j] = %a[i, j] * %b[j]
})"));
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 1);
}

TEST(Reference, ItEndsWhenItIsToldTo) {
  ReferenceOptions options;
  options.visit = Visit::all;
  options.stop = [](const ReferenceProgress& at) {
    EXPECT_EQ(at.statement, 1U);
    EXPECT_EQ(at.statements, 1U);
    return std::string("enough");
  };
  try {
    run(kEdges, options);
    FAIL();
  } catch (const ReferenceStopped& stopped) {
    EXPECT_STREQ(stopped.what(), "enough");
  }
}

TEST(Reference, MemoryHasALimit) {
  ReferenceOptions options;
  options.max_bytes = 1000;  // %y alone has 24,000
  EXPECT_THROW(run(kEdges, options), ReferenceStopped);
  options.max_bytes = 400'000;  // 12 million points go in blocks
  options.visit = Visit::all;
  EXPECT_THROW(run(kEdges, options), ReferenceStopped);  // %s alone has 16 million bytes
  options.visit = Visit::fewer;
  EXPECT_EQ(last(run(kEdges, options)), last(run(kEdges)));
}

TEST(Reference, CoordinatesAreCountedBeyondTheIntegersThatAFloatHolds) {
  const auto values = last(run(R"(
result %y: f32[16777220] dense
region @y { %y[i] = coordinate(i) }
)"));
  EXPECT_EQ(values[16777215], 16777215.F);
  EXPECT_EQ(values[16777218], 16777218.F);
  EXPECT_EQ(values[16777219], 16777220.F);  // as 2^24 + 3 rounds
}

TEST(Reference, OnlyWhatIsWantedIsEvaluated) {
  const std::string text = R"(
input %x: f32[2] dense = values(1, 2)
result %y: f32[2] dense
result %z: f32[2] dense
region @y { %y[i] = %x[i] + 1 }
region @z { %z[i] = %x[i] + 2 }
)";
  ReferenceOptions options;
  options.wanted = {2};
  const auto values = run(text, options);
  EXPECT_EQ(values[1].dense, nullptr);
  EXPECT_EQ(last(values), (std::vector<float>{3, 4}));
}

/// Two statements of which the first is stored as i8, in two regions or in one.
std::string halves(bool fused) {
  const std::string between = fused ? "" : "}\nregion @y {\n";
  return "input %x: f16[3] dense = values(0.3, 1.7, 300.1)\ntemp %h: i8[3] dense\n"
         "result %y: f32[3] dense\nregion @h {\n%h[i] = %x[i] + 0\n" +
         between + "%y[i] = %h[i] * 2\n}\n";
}

TEST(Reference, WhatARegionStoresIsRounded) {
  EXPECT_EQ(last(run(halves(false))), (std::vector<float>{0, 4, 254}));
  // %x is rounded as it is read; what stays inside of the region is not.
  EXPECT_EQ(last(run(halves(true))), (std::vector<float>{0x1.334p-1F, 0x1.b34p1F, 600}));
}

TEST(Reference, ARegionSeesItsOwnStreamAndOthersWhatIsStored) {
  const auto values = run(R"(
input %x: f32[2] dense = values(1.4, 2.5)
result %h: i8[2] dense
result %own: f32[2] dense
result %other: f32[2] dense
region @h {
  %h[i] = %x[i] + 0
  %own[i] = %h[i] + 1
}
region @other { %other[i] = %h[i] + 1 }
)");
  EXPECT_EQ(*values[1].dense, (std::vector<float>{1, 2}));
  EXPECT_EQ(*values[2].dense, (std::vector<float>{2.4F, 3.5F}));
  EXPECT_EQ(*values[3].dense, (std::vector<float>{2, 3}));
}

TEST(Reference, BoundsReachToTheNeighbourThatASumMayBeRoundedTo) {
  ReferenceOptions options;
  options.bounds = true;
  const auto values = run(R"(
input %x: f32[2, 3] dense,dense = values(1, 0.5, 1e-7, 1, 0.25, 1e-7)
result %h: i32[2] dense
region @h { %h[i] = sum(j) %x[i, j] }
)",
                          options);
  EXPECT_EQ(*values[1].dense, (std::vector<float>{2, 1}));
  ASSERT_NE(values[1].bounds, nullptr);
  EXPECT_EQ(*values[1].bounds, (std::vector<float>{1, 0}));  // 1.5 or just below
}

TEST(Compare, NaNAndInfinityMustAgree) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(compare(value({1, inf, NAN}), value({1, inf, NAN})).passes(0));
  EXPECT_FALSE(compare(value({1, inf}), value({1, -inf})).passes(1));
  EXPECT_FALSE(compare(value({1, NAN}), value({1, 2})).passes(1));
  EXPECT_TRUE(compare(value({1.00001F, 2}), value({1, 2})).passes(1e-4));
  EXPECT_FALSE(compare(value({1.001F, 2}), value({1, 2})).passes(1e-4));
}

TEST(Compare, NumbersBelowTheNormalOnesHaveFewerDigits) {
  EXPECT_TRUE(compare(value({1.4e-44F}), value({1.3e-44F})).passes(1e-4));
  EXPECT_FALSE(compare(value({2e-42F}), value({1e-42F})).passes(1e-5));
  EXPECT_FALSE(compare(value({1.4e-44F}), value({0})).passes(1e-4));
}

TEST(Compare, RelativeErrorsHaveAFloorByTheLargestExpected) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto error = [](std::vector<float> a, std::vector<float> e) {
    return compare(value(std::move(a)), value(std::move(e))).max_rel_error;
  };
  EXPECT_DOUBLE_EQ(error({2.5F, 100}, {2, 100}), 0.25);
  EXPECT_DOUBLE_EQ(error({0.5F, 1000}, {0, 1000}), 500);  // 0.5 / (1e-6 * 1000)
  EXPECT_DOUBLE_EQ(error({1, inf, NAN}, {2, inf, NAN}), 0.5);
  EXPECT_EQ(error({0, -0.0F}, {0, 0}), 0);
  EXPECT_EQ(error({1}, {0}), inf);
  EXPECT_EQ(error({}, {}), 0);
}

TEST(Compare, SparseValuesTooLargeToSpellOutCompareTheirEntries) {
  const auto sparse = [](std::vector<float> x, float fill) {
    const std::vector<uint32_t> at = {1, 2, 3};
    return value_of(std::make_shared<const Storage>(
        from_coo({1 << 15, 1 << 15}, {at, at}, std::move(x), sparse_format(2), fill)));
  };
  const Comparison c = compare(sparse({1, 2, 5}, 0), sparse({1, 2, 4}, 0));
  EXPECT_DOUBLE_EQ(c.max_abs_expected, 4);
  EXPECT_DOUBLE_EQ(c.max_rel_error, 0.25);
  EXPECT_EQ(c.worst, 3 * (int64_t{1} << 15) + 3);
  EXPECT_FALSE(compare(sparse({1, 2, 4}, 1), sparse({1, 2, 4}, 0)).passes(1e-4));
}

TEST(Compare, TheWorstIsTheFirstThatIsNoNumberOnOneSideOnly) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto worst = [](std::vector<float> a, std::vector<float> e) {
    return compare(value(std::move(a)), value(std::move(e))).worst;
  };
  EXPECT_EQ(worst({0, inf, inf, NAN}, {0, 1, 2, 3}), 1);
  EXPECT_EQ(worst({0, NAN, NAN, inf}, {0, 1, 2, 3}), 1);
  EXPECT_EQ(worst({0, 5, NAN}, {0, 1, 2}), 2);
}

}  // namespace
}  // namespace fuseflow
