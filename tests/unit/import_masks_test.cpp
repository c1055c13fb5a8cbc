// What is known of masks in front of a softmax: which rows they close, and what becomes of them on
// the way. Other tests: import_attention_test.cpp (guards against NaN).
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "import_values.h"

namespace fuseflow {
namespace {

bool is_sparse(const Program& program, const std::string& name) {
  return !program.tensors[static_cast<size_t>(find_tensor(program, name))].format.all_dense();
}

/// Scores t [3, 3] that a mask of rows makes -inf (row 1), `between` makes u of them, and a causal
/// mask follows. The scores are 0 but t[0, 0] = 5.
Program after_rows(const std::string& between,
                   const std::string& behind = "y = Softmax<axis = -1>(v)") {
  const std::string graph =
      "(float[3,3] x) => (float[3,3] y) <bool[3,1] rows = {1, 0, 1}, bool[3,3] causal = {1, 0, 0, "
      "1, 1, 0, 1, 1, 1}, bool[3,3] cut = {1, 0, 1, 1, 1, 1, 1, 1, 0}, float absent = {-inf}, "
      "float zero = {0}, float least = {-30}, float half = {0.5}, float[3,1] signs = {1, 2, -1}, "
      "float[3,1] factors = {1, 2, 3}, float[3,3] id = {1, 0, 0, 0, 1, 0, 0, 0, 1}> "
      "{ s = MatMul(x, id) t = Where(rows, s, absent) " +
      between + " v = Where(causal, u, absent) " + behind + " }";
  return imported_with(model_at(18, graph), {{"x", "values(5, 0, 0, 0, 0, 0, 0, 0, 0)"}});
}

/// What makes a number of -inf opens the row again: half of it for each key that it may see.
TEST(ImportMasks, RowsThatAreFiniteAgainAreNotClosed) {
  for (const std::string between :
       {"u = Clip(t, least)", "u = Where(rows, t, zero)", "u = Relu(t)", "u = Tanh(t)",
        "u = Sigmoid(t)", "u = Elu(t)", "u = Exp(t)", "u = Softplus(t)", "u = Max(t, least)",
        "d = Mul(t, half) e = Tanh(d) u = Div(e, half)", "u = Where(cut, t, zero)"}) {
    const Program program = after_rows(between);
    Floats expected = {1, 0, 0, 0.5F, 0.5F, 0, 1 / 3.0F, 1 / 3.0F, 1 / 3.0F};
    const bool rest = between.find("cut") != std::string::npos;  // row 1 is left closed
    for (size_t i = 3; rest && i < 6; ++i) expected[i] = kNaN;
    SCOPED_TRACE(between);
    expect_values(result_of(program), expected);
  }
  expect_values(
      result_of(after_rows("u = Clip(t, least)", "p = LogSoftmax<axis = -1>(v) y = Exp(p)")),
      {1, 0, 0, 0.5F, 0.5F, 0, 1 / 3.0F, 1 / 3.0F, 1 / 3.0F});
}

/// What keeps -inf keeps the row closed, and the others sparse.
TEST(ImportMasks, ClosedRowsStaySoOnTheirWay) {
  for (const std::string between :
       {"u = Mul(t, half)", "u = Div(t, half)", "u = Add(t, zero)", "u = Sub(t, half)",
        "u = Min(zero, t)", "u = Where(cut, t, absent)"}) {
    const Program program = after_rows(between);
    SCOPED_TRACE(between);
    EXPECT_TRUE(is_sparse(program, "y"));
    const Floats y = result_of(program);
    EXPECT_NE(y[3], y[3]);
    EXPECT_FLOAT_EQ(y[0], 1);
  }
  for (const std::string factors : {"factors", "signs"}) {  // what may be inf is no mask
    const Floats y = result_of(after_rows("u = Mul(" + factors + ", t)"));
    EXPECT_NE(y[3], y[3]);
    EXPECT_FLOAT_EQ(y[0], 1);
  }
}

/// Scores x [3, 3] that are an input, so that sums of them and masks are known at import: a causal
/// mask and one of keys, each of the number `far`.
std::string two_masks(const std::string& far, const std::string& sums) {
  return "(float[3,3] x) => (float[3,3] y) <float[3,3] causal = {0, " + far + ", " + far +
         ", 0, 0, " + far + ", 0, 0, 0}, float[1,3] keys = {" + far + ", " + far + ", 0}> { " +
         sums + " y = Softmax<axis = -1>(u) }";
}

/// Rows that both masks close together are even over what one of them closes; where the least float
/// twice is -inf, nothing is left of that.
TEST(ImportMasks, TwoOfThemBeforeKnownScores) {
  const Binds scores = {{"x", "values(1, 1, 2, 3, 3, 0, 1, 0, 2)"}};
  for (const std::string far : {"-1e4", "-1e9", "-1e30", "-3.4028235e38"}) {
    for (const std::string sums :
         {"t = Add(x, causal) u = Add(t, keys)", "t = Add(x, causal) u = Add(keys, t)",
          "t = Add(causal, x) u = Add(t, keys)", "r = Relu(x) t = Add(r, causal) u = Add(t, keys)",
          "t = Add(causal, keys) u = Add(x, t)"}) {
      SCOPED_TRACE(far + ": " + sums);
      const Program program = imported_with(model_at(18, two_masks(far, sums)), scores);
      const Floats y = result_of(program);
      ASSERT_EQ(y.size(), 9U);
      EXPECT_EQ(y[1], 0);
      EXPECT_EQ(y[6], 0);
      EXPECT_EQ(y[8], 1);
      if (far == "-1e30") expect_values(y, {0.5F, 0, 0.5F, 1 / 3.0F, 1 / 3.0F, 1 / 3.0F, 0, 0, 1});
    }
  }
}

/// A row that one mask closes twice is -inf, known or not.
TEST(ImportMasks, OneTwiceIsNothing) {
  for (const std::string scores : {"s = Relu(x)", "s = MatMul(x, id)"}) {
    const std::string graph =
        "(float[2,2] x) => (float[2,2] y) <float[2,2] m = {0, -3.4028235e38, -3.4028235e38, "
        "-3.4028235e38}, float[2,2] id = {1, 0, 0, 1}> { " +
        scores + " t = Add(s, m) u = Add(t, m) y = Softmax<axis = -1>(u) }";
    expect_values(values_at(18, graph, {{"x", "values(1, 2, 3, 4)"}}), {1, 0, kNaN, kNaN});
  }
}

/// Nothing of what follows brings a sum of masks back that is -inf.
TEST(ImportMasks, SumsThatOverflowedStaySo) {
  for (const std::string after :
       {"u = Mul(t, half)", "u = Div(t, two)", "u = Add(t, bias)", "u = Sub(t, bias)",
        "u = Min(t, two)", "v = Add(t, bias) u = Mul(half, v)", "u = Floor(t)", "u = Ceil(t)",
        "u = LeakyRelu(t)", "u = Where(open, t, two)"}) {
    const std::string graph =
        "(float[2,2] x) => (float[2,2] y) <float[2,2] m = {0, -3.4028235e38, -3.4028235e38, "
        "-3.4028235e38}, bool[2,2] open = {1, 0, 0, 0}, float least = {-3.4028235e38}, float half "
        "= {0.5}, float two = {2}, float[2,2] bias = {1, 1, 2, 2}, float[2,2] id = {1, 0, 0, 1}> "
        "{ s = MatMul(x, id) r = Where(open, s, least) t = Add(r, m) " +
        after + " y = Softmax<axis = -1>(u) }";
    SCOPED_TRACE(after);
    const bool replaced = after.find("open") != std::string::npos;
    const float rest = replaced ? 0.5F : kNaN;
    const float first = replaced ? 1 / (1 + std::exp(1.0F)) : 1;
    expect_values(values_at(18, graph, {{"x", "values(1, 2, 3, 4)"}}),
                  {first, 1 - first, rest, rest});
  }
}

/// A mask that is not seen on its way (in a part of a Concat) leaves a row without a score: no
/// further mask of that number is widened.
TEST(ImportMasks, UnseenOnesCloseRowsToo) {
  const std::string graph =
      "(float[2,2] x) => (float[2,4] y) <float[2,2] id = {1, 0, 0, 1}, bool[2,2] left = {0, 0, 1, "
      "1}, bool[2,2] right = {0, 0, 1, 1}, bool[2,4] open = {1, 0, 1, 0, 1, 0, 1, 1}, float far = "
      "{-1e9}> { s = MatMul(x, id) a = Where(left, s, far) b = Where(right, s, far) "
      "c = Concat<axis = 1>(a, b) t = Where(open, c, far) y = Softmax<axis = -1>(t) }";
  const float third = 1 / (2 + std::exp(1.0F));
  expect_values(values_at(18, graph, {{"x", "values(1, 2, 3, 4)"}}),
                {0.25F, 0.25F, 0.25F, 0.25F, third, 0, third, 1 - 2 * third});
}

/// Each part of a Concat is 0 where the other is, whatever its mask's number is.
TEST(ImportMasks, PartsOfAConcatAreZeroOutside) {
  const std::string graph =
      "(float[2,2] x) => (float[2,4] y) <float[2,2] id = {1, 0, 0, 1}, bool[2,2] left = {1, 1, 0, "
      "0}, bool[2,2] right = {0, 0, 0, 1}, bool[2,4] open = {1, 0, 1, 0, 1, 1, 1, 1}, float least "
      "= {-3.4028235e38}, float absent = {-inf}> { s = MatMul(x, id) a = Where(left, s, least) "
      "b = Where(right, s, least) c = Concat<axis = 1>(a, b) t = Where(open, c, absent) "
      "p = Softmax<axis = -1>(t) y = Identity(p) }";
  const Program program = imported_with(model_at(18, graph), {{"x", "values(1, 2, 3, 4)"}});
  EXPECT_TRUE(is_sparse(program, "y"));
  expect_values(result_of(program), {1, 0, 0, 0, 0, 0, 0, 1});
}

}  // namespace
}  // namespace fuseflow
