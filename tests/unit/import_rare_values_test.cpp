// Values at the ends: infinities beside what is read, whole numbers that f32 does not have,
// unsigned types that wrap, data that the model's type does not hold.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "import_values.h"
#include "ir/names.h"

namespace fuseflow {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A mask may be stored by its closed value; what is read beyond it is 0 all the same.
TEST(ImportRareValues, BoundMasksAreZeroOutside) {
  const Binds mask = {{"m",
                       "values(0, -inf, -inf, -inf, -inf, 0, -inf, -inf, -inf, -inf, 0, -inf, "
                       "-inf, -inf, -inf, 0)"}};
  const Floats y = values_at(17,
                             "(float[4,4] m) => (float[4,5] y) <float[4,1] z = {0, 0, 0, 0}> "
                             "{ y = Concat<axis = 1>(z, m) }",
                             mask);
  for (size_t i = 0; i < 20; i += 5) EXPECT_EQ(y[i], 0) << i;
}

/// An element that no edge and no tap reads adds nothing, not even where it is infinite.
TEST(ImportRareValues, WhatIsNotReadAddsNothing) {
  EXPECT_EQ(values_at(18,
                      "(float[3,2] x) => (float[3,2] y) <int64[2] s = {0, 2}, "
                      "int64[2,2] t = {0, 0, 0, 0}, float[3,2] z = {0, 0, 0, 0, 0, 0}> "
                      "{ g = Gather<axis = 0>(x, s) "
                      "y = ScatterElements<axis = 0, reduction = \"add\">(z, t, g) }",
                      {{"x", "values(1, 2, inf, -inf, 3, 4)"}}),
            (Floats{4, 6, 0, 0, 0, 0}));
  const Floats resized = values_at(19,
                                   "(float[1,4] x) => (float[1,8] y) <float[2] s = {1, 2}> "
                                   "{ y = Resize<mode = \"linear\">(x, \"\", s) }",
                                   {{"x", "values(1, 2, 3, inf)"}});
  EXPECT_EQ(resized[0], 1);
  EXPECT_EQ(resized[1], 1.25F);
  EXPECT_EQ(resized[7], kInfinity);
}

/// To an added constant comes the masked score itself, which may make up for it: -1000 is no mask,
/// and neither are data among which there is one of -10000.
TEST(ImportRareValues, AnAddedNumberIsAMaskOnlyFarBelow) {
  const auto softmax_of = [](const std::string& mask, const std::string& x) {
    return values_at(
        17, "(float[1,4] x, float[1,4] m) => (float[1,4] y) { s = Add(x, m) y = Softmax(s) }",
        {{"x", "values(" + x + ")"}, {"m", "values(" + mask + ")"}});
  };
  expect_values(softmax_of("0, 0, -1000, -1000", "-800, -850, -900, 300"), {0, 0, 0, 1});
  expect_values(softmax_of("0, 0, 0, -10000", "-6000, -6000, -6000, 6000"), {0, 0, 0, 1});
  expect_values(softmax_of("1, 1, 2, 2", "-20000, -20000, -20001, -20001"),
                {0.25F, 0.25F, 0.25F, 0.25F});
  expect_values(softmax_of("0, 0, -10000, -10000", "1, 1, 7, 9"), {0.5F, 0.5F, 0, 0});
}

/// A power that is infinite for 0 and replaced there is finite: absent entries of a product stay 0.
TEST(ImportRareValues, WhatReplacesInfinitiesIsFinite) {
  const Program program =
      imported_with(model_at(18,
                             "(float[4] d, float[4,4] a) => (float[4,4] y) "
                             "<float[1] p = {-0.5}, float[1] z = {0}> "
                             "{ r = Pow(d, p) t = IsInf(r) g = Where(t, z, r) y = Mul(a, g) }"),
                    {{"d", "values(0, 1, 4, 9)"}, {"a", "uniform(density=0.3,seed=1)"}});
  const TensorId y = find_tensor(program, "y");
  ASSERT_GE(y, 0);
  EXPECT_FALSE(program.tensors[static_cast<size_t>(y)].format.all_dense());
}

TEST(ImportRareValues, WordsWithoutSignWrap) {
  EXPECT_EQ(values_at(18,
                      "(uint32[3] x) => (bool[3] y) <uint32[1] a = {3}, uint32[1] b = {7}> "
                      "{ d = Sub(x, a) y = Less(d, b) }",
                      {{"x", "values(1, 3, 9)"}}),
            (Floats{0, 1, 1}));
  EXPECT_EQ(values_at(18,
                      "(uint32[2] x) => (bool[2] y) <uint32[1] b = {4294967294}> "
                      "{ n = BitwiseNot(x) y = Equal(n, b) }",
                      {{"x", "values(1, 2)"}}),
            (Floats{1, 0}));
  expect_refused(18,
                 "(uint64[2] x) => (bool[2] y) <uint64[1] a = {3}, uint64[1] b = {7}> "
                 "{ d = Sub(x, a) y = Less(d, b) }",
                 {{"x", "values(1, 3)"}}, "2^63 or more");
}

/// Folding is exact where f32 is not.
TEST(ImportRareValues, WholeNumbersBeyondF32) {
  const std::string big = "<int64[3] x = {16777216, 16777217, 5}, int64[1] k = {1}";
  EXPECT_EQ(values_at(18,
                      "(float[1] q) => (int64[1] y) " + big +
                          "> { v, i = TopK(x, k) n = Cast<to = 7>(q) y = Add(i, n) }",
                      {{"q", "values(0)"}}),
            (Floats{1}));
  EXPECT_EQ(values_at(18,
                      "(float[1] q) => (bool[4] y) " + big +
                          ", int64[2] p = {0, 1}, int64 c = {16777217}> "
                          "{ z = Pad(x, p, c) y = Equal(z, c) }",
                      {{"q", "values(0)"}}),
            (Floats{0, 1, 0, 1}));
  EXPECT_EQ(values_at(18,
                      "(float[1] q) => (int64[3] y) " + big +
                          "> { f = Cast<to = 1>(x) b = Cast<to = 7>(f) y = Sub(b, x) }",
                      {{"q", "values(0)"}}),
            (Floats{0, -1, 0}));
}

TEST(ImportRareValues, RemaindersOfLargeNumbersAreExact) {
  EXPECT_EQ(values_at(18,
                      "(float[5] a) => (float[5] y) <float[5] b = {3, inf, 3, inf, 3}> "
                      "{ y = Mod<fmod = 1>(a, b) }",
                      {{"a", "values(1e8, 5, -7, -5, -1e20)"}}),
            (Floats{1, 5, -1, -5, -std::fmod(1e20F, 3.0F)}));
}

TEST(ImportRareValues, HyperbolicFunctionsReachTheEnds) {
  const auto at = [](const std::string& op, const std::string& x) {
    return values_at(18, "(float[1] x) => (float[1] y) { y = " + op + "(x) }",
                     {{"x", "values(" + x + ")"}})[0];
  };
  EXPECT_NEAR(at("Asinh", "-1e20"), -46.744849F, 1e-5F);
  EXPECT_NEAR(at("Acosh", "1e20"), 46.744849F, 1e-5F);
  EXPECT_NEAR(at("Sinh", "-89"), -2.2448e38F, 1e34F);
  EXPECT_NEAR(at("Cosh", "89"), 2.2448e38F, 1e34F);
  EXPECT_EQ(at("Cosh", "100"), kInfinity);
  EXPECT_TRUE(std::isnan(at("Acosh", "-1e19")));  // its square is infinite
  EXPECT_TRUE(std::isnan(at("Acosh", "-2e38")));
}

/// As onnxruntime: the least or the largest number of the type.
TEST(ImportRareValues, TheLeastOfNothing) {
  const auto at = [](const std::string& type, const std::string& op) {
    return values_at(13,
                     "(" + type + "[2, 0] x) => (" + type + "[2] y) { y = " + op +
                         "<axes = [1], keepdims = 0>(x) }",
                     {{"x", "zeros()"}})[0];
  };
  EXPECT_EQ(at("int8", "ReduceMin"), 127);
  EXPECT_EQ(at("int8", "ReduceMax"), -128);
  EXPECT_EQ(at("uint8", "ReduceMin"), 255);
  EXPECT_EQ(at("int32", "ReduceMax"), -0x1p31F);
}

/// As ir-spec/import.md has them where ONNX says nothing.
TEST(ImportRareValues, NotANumber) {
  const auto at = [](const std::string& result, const std::string& nodes) {
    return values_at(13, "(float[3] x) => (float" + result + " y) { " + nodes + " }",
                     {{"x", "values(1, nan, 3)"}});
  };
  expect_values(at("", "y = ReduceMax<keepdims = 0>(x)"), {kNaN});
  expect_values(at("", "y = ReduceMin<keepdims = 0>(x)"), {kNaN});
  expect_values(at("[3]", "two = Constant<value_float = 2.0>() y = Max(x, two)"), {2, kNaN, 3});
  expect_values(at("[3]", "two = Constant<value_float = 2.0>() y = Clip(x, , two)"), {1, kNaN, 2});
  expect_values(at("", "i = ArgMax<keepdims = 0>(x) y = Cast<to = 1>(i)"), {1});
  expect_values(at("", "i = ArgMin<keepdims = 0>(x) y = Cast<to = 1>(i)"), {1});
  expect_values(at("[3]", "i = Cast<to = 6>(x) y = Cast<to = 1>(i)"), {1, 0, 3});
  expect_values(at("[3]", "b = Cast<to = 9>(x) y = Cast<to = 1>(b)"), {1, 1, 1});
  expect_values(at("[1,1,1]",
                   "s = Constant<value_ints = [1, 1, 3]>() z = Reshape(x, s) "
                   "y = MaxPool<kernel_shape = [3]>(z)"),
                {kNaN});
}

/// Two boxes of 8 that share 6 of 10, given by their centres: one hides the other or not.
TEST(ImportRareValues, BoxesByTheirCentres) {
  const auto kept = [](const std::string& boxes, float overlap) {
    return values_at(13,
                     "(float x) => (float[N,3] y) <float[1,2,4] b = {" + boxes +
                         "}, float[1,1,2] s = {0.5, 0.9}, int64[1] n = {2}, float[1] o = {" +
                         std::to_string(overlap) +
                         "}> { i = NonMaxSuppression<center_point_box = 1>(b, s, n, o) "
                         "y = Cast<to = 1>(i) }",
                     {{"x", "values(1)"}});
  };
  for (const char* boxes : {"0, 0, 4, 2, 1, 0, 4, 2", "0, 0, 2, 4, 0, 1, 2, 4"}) {
    EXPECT_EQ(kept(boxes, 0.55F), (Floats{0, 0, 1})) << boxes;
    EXPECT_EQ(kept(boxes, 0.65F), (Floats{0, 0, 1, 0, 0, 0})) << boxes;
  }
}

TEST(ImportRareValues, DataThatTheTypeDoesNotHold) {
  const auto fault = [](const std::string& type, const std::string& x) {
    return fault_at(18, "(" + type + "[2] x) => (" + type + "[2] y) { y = Add(x, x) }",
                    {{"x", "values(" + x + ")"}});
  };
  EXPECT_NE(fault("int8", "1, 200").find("the value 200"), std::string::npos);
  EXPECT_NE(fault("uint8", "1, -3").find("the value -3"), std::string::npos);
  EXPECT_NE(fault("int16", "1, 70000").find("the value 70000"), std::string::npos);
  EXPECT_NE(fault("uint32", "1, -1").find("the value -1"), std::string::npos);
  // Of floating types the nearest value is taken, and what is known of it is known after rounding.
  const Program program = imported_with(
      model_at(18, "(float16[2] x) => (float16[2] y) { y = Relu(x) }"), {{"x", "values(1, 1e-9)"}});
  EXPECT_FALSE(program.tensors[0].facts.nonzero);
}

}  // namespace
}  // namespace fuseflow
