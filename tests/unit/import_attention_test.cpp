// What exporters put around attention: a guard against NaN after the softmax, keys that are
// repeated for the queries of a group.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "import_values.h"
#include "ir/print.h"

namespace fuseflow {
namespace {

/// Rows of scores x [2, 3] under a mask, guarded as the default exporter of PyTorch does it.
std::string guarded(const std::string& mask, const std::string& more = "") {
  return "(float[2,3] x) => (float[2,3] y) <float[2,3] mask = {" + mask +
         "}, float none = {0}> { s = Add(x, mask) p = Softmax<axis = -1>(s) nan = IsNaN(p) "
         "q = Where(nan, none, p) " +
         (more.empty() ? "y = Identity(q)" : more) + " }";
}

const Binds kScores = {{"x", "values(1, 2, 3, 1, 1, 1)"}};

Program guarded_program(const std::string& graph) {
  return imported_with(model_at(18, graph), kScores);
}

bool asks_for_nan(const Program& program) {
  for (const Region& region : program.regions) {
    for (const Statement& s : region.statements) {
      for (const Expr& node : s.nodes) {
        if (node.kind == Expr::Kind::apply && node.op == Op::isnan) return true;
      }
    }
  }
  return false;
}

TEST(ImportNanGuard, GoesWhereEveryRowIsOpen) {
  const Program program = guarded_program(guarded("0, -inf, -inf, 0, 0, -inf", "y = Mul(q, x)"));
  EXPECT_FALSE(asks_for_nan(program)) << print_program(program);
  EXPECT_LT(find_tensor(program, "q"), 0);  // who read it reads the softmax
  EXPECT_LT(find_tensor(program, "nan"), 0);
  EXPECT_TRUE(program.tensors[static_cast<size_t>(find_tensor(program, "p"))].assumed.no_nan);
  expect_values(result_of(program), {1, 0, 0, 0.5F, 0.5F, 0});
}

TEST(ImportNanGuard, StaysAsACopyInAResult) {
  const Program program = guarded_program(guarded("0, -inf, -inf, 0, 0, -inf"));
  EXPECT_FALSE(asks_for_nan(program));
  expect_values(result_of(program), {1, 0, 0, 0.5F, 0.5F, 0});
}

TEST(ImportNanGuard, StaysWhereARowIsClosed) {
  const Program program = guarded_program(guarded("-inf, -inf, -inf, 0, 0, -inf", "y = Mul(q, x)"));
  EXPECT_TRUE(asks_for_nan(program));
  expect_values(result_of(program), {0, 0, 0, 0.5F, 0.5F, 0});
}

TEST(ImportNanGuard, StaysForDataThatMayHaveNan) {
  const std::string graph =
      "(float[2,3] x) => (float[2,3] y) <float none = {7}> { nan = IsNaN(x) y = Where(nan, none, "
      "x) "
      "}";
  expect_values(values_at(18, graph, {{"x", "values(1, nan, 3, 1, 1, nan)"}}), {1, 7, 3, 1, 1, 7});
}

/// Exponentials that overflow give inf / inf: no softmax, but what the guard is for.
TEST(ImportNanGuard, StaysWhereExponentialsMayOverflow) {
  const std::string graph =
      "(float[2,3] x) => (float[2,3] y) <float none = {0}, int64[1] last = {1}> { e = Exp(x) "
      "z = ReduceSum(e, last) p = Div(e, z) nan = IsNaN(p) q = Where(nan, none, p) y = Mul(q, x) }";
  expect_values(values_at(13, graph, {{"x", "values(100, 0, 0, 1, 1, 1)"}}),
                {0, 0, 0, 1 / 3.0F, 1 / 3.0F, 1 / 3.0F});
}

/// What asks for NaN is kept for others that read it.
TEST(ImportNanGuard, ConditionsThatOthersReadStay) {
  const Program program = guarded_program(
      guarded("0, -inf, -inf, 0, 0, -inf", "f = Cast<to = 1>(nan) z = Add(f, q) y = Identity(z)"));
  expect_values(result_of(program), {1, 0, 0, 0.5F, 0.5F, 0});
}

/// Scores x [3, 2] under two masks of the least float, guarded. Of row 0 nothing is closed, of row
/// 1 one entry by both masks, and of row 2 all: what is -inf for f32 is so for the guard.
std::string twice_masked(const std::string& sum) {
  return "(float[3,2] x, float[3,2] b) => (float[3,2] y) <bool[3,2] m = {0, 0, 0, 1, 1, 1}, "
         "float[3,2] a = {0, 0, 0, -3.4028235e38, -3.4028235e38, -3.4028235e38}, float far = "
         "{-3.4028235e38}, float half = {0.5}, float none = {0}, float[2,2] id = {1, 0, 0, 1}> { "
         "s = MatMul(x, id) " +
         sum + " p = Softmax<axis = -1>(u) nan = IsNaN(p) y = Where(nan, none, p) }";
}

TEST(ImportNanGuard, StaysWhereTheSumOfMasksOverflowsInARow) {
  const std::string far = "-3.4028235e38";
  for (const std::string sum :
       {"t = Add(s, a) u = Add(t, b)", "t = Where(m, far, s) u = Add(b, t)",
        "t = Add(a, b) u = Add(s, t)", "t = Where(m, far, s) u = Div(t, half)",
        "t = Add(s, a) v = Add(t, b) u = Mul(v, half)"}) {
    const Program program =
        imported_with(model_at(18, twice_masked(sum)),
                      {{"x", "values(1, 1, 5, 1, 1, 1)"},
                       {"b", "values(0, 0, 0, " + far + ", " + far + ", " + far + ")"}});
    EXPECT_TRUE(asks_for_nan(program)) << print_program(program);
    expect_values(result_of(program), {0.5F, 0.5F, 1, 0, 0, 0});
  }
}

/// Along an axis of one element, each score is a row.
TEST(ImportNanGuard, StaysWhereARowOfOneScoreOverflows) {
  const std::string graph =
      "(float[1,2] x, float[1,2] b) => (float[1,2] y) <float[1,2] a = {0, -3.4028235e38}, float "
      "none = {0}, float[2,2] id = {1, 0, 0, 1}> { s = MatMul(x, id) t = Add(s, a) u = Add(t, b) "
      "p = Softmax<axis = 0>(u) nan = IsNaN(p) y = Where(nan, none, p) }";
  const Program program = imported_with(model_at(18, graph),
                                        {{"x", "values(1, 1)"}, {"b", "values(0, -3.4028235e38)"}});
  EXPECT_TRUE(asks_for_nan(program)) << print_program(program);
  expect_values(result_of(program), {1, 0});
}

/// The least number of f16 (64511 are its bits) twice is -inf.
TEST(ImportNanGuard, StaysWhereMasksOverflowInF16) {
  const std::string graph =
      "(float16[2,2] x) => (float16[2,2] y) <float16[2,2] a = {0, 64511, 64511, 64511}, "
      "float16 none = {0}, float16[2,2] id = {15360, 0, 0, 15360}> { s = MatMul(x, id) t = Add(s, "
      "a) "
      "u = Add(t, a) p = Softmax<axis = -1>(u) nan = IsNaN(p) y = Where(nan, none, p) }";
  const Program program = imported_with(model_at(18, graph), {{"x", "values(1, 1, 1, 1)"}});
  EXPECT_TRUE(asks_for_nan(program)) << print_program(program);
  expect_values(result_of(program), {1, 0, 0, 0});
}

/// Where each row has an entry that at most one of them closes, none is NaN; so where the least
/// float bounds the sum.
TEST(ImportNanGuard, GoesWhereEveryRowHasAFiniteSum) {
  for (const std::string sum :
       {"t = Add(s, a) u = Add(t, b)", "t = Where(m, far, s) v = Add(b, t) u = Max(v, far)"}) {
    const bool bounded = sum.find("Max") != std::string::npos;
    const std::string last = bounded ? "-3.4028235e38, -3.4028235e38" : "0, -3.4028235e38";
    const Program program = imported_with(
        model_at(18, twice_masked(sum)),
        {{"x", "values(1, 1, 5, 1, 1, 1)"}, {"b", "values(0, 0, 0, -3.4028235e38, " + last + ")"}});
    EXPECT_FALSE(asks_for_nan(program)) << print_program(program);
    const float kept = bounded ? 0.5F : 1;
    expect_values(result_of(program), {0.5F, 0.5F, 1, 0, kept, 1 - kept});
  }
}

/// Scores x [2, 2, 2] (twice x, so that they are computed) under a mask, and what stands behind it.
std::string masked(const std::string& bits, const std::string& behind) {
  return "(float[2,2,2] x) => (float[2,2,2] y) <bool[2,2,2] mask = {" + bits +
         "}, float far = {-1e9}, float[2] bias = {1, 2}, float two = {2}> { s = Add(x, x) "
         "t = Where(mask, far, s) u = " +
         behind + " y = Softmax<axis = -1>(u) }";
}

/// Rows that a mask closes for one batch keep their numbers, and the others stay sparse.
TEST(ImportFiniteMask, ATermMayFollowAMaskThatDiffersByBatch) {
  const float e = std::exp(1.0F) / (1 + std::exp(1.0F));  // of the bias alone
  const Binds scores = {{"x", "values(0, 0, 0, 0, 0, 0, 0, 0)"}};
  for (const std::string behind : {"Add(t, bias)", "Mul(t, two)"}) {
    const bool even = behind[0] == 'M';
    const Program program =
        imported_with(model_at(18, masked("0, 0, 1, 1, 0, 1, 1, 1", behind)), scores);
    const Tensor& y = program.tensors[static_cast<size_t>(find_tensor(program, "y"))];
    EXPECT_FALSE(y.format.all_dense()) << print_program(program);
    const float second = even ? 0.5F : e;
    expect_values(result_of(program), {1 - second, second, 0.5F, 0.5F, 1, 0, 0.5F, 0.5F});
  }
}

/// All scores may be lowered by a number of the model as large as the mask's: before or behind it.
TEST(ImportFiniteMask, ANumberMayLowerEveryScore) {
  for (const std::string order :
       {"t = Add(s, mask) u = Sub(t, low)", "t = Sub(s, low) u = Add(mask, t)",
        "t = Add(s, mask) u = Add(t, lower)",
        "t = Mul(s, two) v = Add(t, lower) u = Add(v, mask)"}) {
    const Program program = imported_with(
        model_at(18,
                 "(float[2,2] x) => (float[2,2] y) <float[2,2] mask = {0, -1e4, 0, 0}, float "
                 "low = {1e4}, float two = {2}, float[2,2] id = {1, 0, 0, 1}, float[2] lower = "
                 "{-9e3, -9e3}> "
                 "{ s = MatMul(x, id) " +
                     order + " y = Softmax<axis = -1>(u) }"),
        {{"x", "values(1, 1, 3, 3)"}});
    expect_values(result_of(program), {1, 0, 0.5F, 0.5F});
    const TensorId margin = find_tensor(program, "y.max.margin");
    ASSERT_GE(margin, 0) << print_program(program);
    for (const float m : values_of(program, "y.max.margin")) EXPECT_GE(m, 0) << order;
  }
}

/// What a condition of one value never chooses is no mask.
TEST(ImportFiniteMask, OfAScoreThatIsNeverChosenIsNone) {
  const Program program = imported_with(
      model_at(18,
               "(float[2,2] x) => (float[2,2] y) <float[2,2] mask = {0, -1e9, 0, 0}, float far = "
               "{-1e9}, bool[1,1] no = {0}, float[2,2] id = {1, 0, 0, 1}> { s = MatMul(x, id) "
               "t = Add(s, mask) u = Where(no, t, far) y = Softmax<axis = -1>(u) }"),
      {{"x", "values(1, 1, 3, 3)"}});
  EXPECT_LT(find_tensor(program, "y.max.margin"), 0) << print_program(program);
  expect_values(result_of(program), {0.5F, 0.5F, 0.5F, 0.5F});
}

/// Keys [2, 3] (heads, width) are repeated for two groups of queries, scaled, and multiplied.
TEST(ImportBroadcasts, WhatIsRepeatedIsComputedOnce) {
  const std::string graph =
      "(float[2,2,3] x) => (float[2,2] y) <float[2,1,3] keys = {1, 2, 3, 4, 5, 6}, int64[3] to = "
      "{2, "
      "2, 3}, float two = {2}, int64[1] last = {2}> { w = Tanh(x) k = ReduceMax<keepdims = 1>(x) "
      "r = Mul(keys, k) e = Expand(r, to) s = Mul(e, two) p = Mul(s, w) y = ReduceSum<keepdims = "
      "0>(p, last) }";
  const Program program =
      imported_with(model_at(13, graph), {{"x", "values(0, 0, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1)"}});
  const Tensor& scaled = program.tensors[static_cast<size_t>(find_tensor(program, "s"))];
  EXPECT_EQ(scaled.shape.size(), 2U) << print_program(program);
  const float t = std::tanh(1.0F);
  expect_values(result_of(program), {0, 12 * t, 10 * t, 20 * t});
}

}  // namespace
}  // namespace fuseflow
