// Parts of tensors, and what is read past their ends.
#include <gtest/gtest.h>

#include <cmath>

#include "import_values.h"

namespace fuseflow {
namespace {

/// The front part of a constant reads it as the whole does, with fewer coordinates.
TEST(ImportParts, TheFrontOfAConstantIsNotTheWhole) {
  const std::string constant =
      "<float[6] c = {1, 2, 3, 4, 5, 6}, int64[1] a = {0}, int64[1] b = {4}> ";
  for (const char* same : {"Max(f)", "Sum(f)", "Clip(f)", "Min(f, f)"}) {
    EXPECT_EQ(values_at(17,
                        "(float[1] x) => (float[1] y) " + constant + "{ f = Slice(c, a, b) g = " +
                            same + " s = ReduceSum(g) y = Add(x, s) }",
                        {{"x", "values(100)"}}),
              (Floats{110}))
        << same;
  }
  EXPECT_EQ(values_at(17,
                      "(float[2] x) => (float[2] y) <float[2,3] c = {1, 2, 3, 4, 5, 6}, "
                      "int64[4] p = {0, 0, 0, -2}> "
                      "{ f = Pad(c, p) s = ReduceSum<keepdims = 0>(f) y = Add(x, s) }",
                      {{"x", "values(0, 1)"}}),
            (Floats{5, 6}));
}

/// A piece of a concatenation is read by a plain index that goes on past its end.
TEST(ImportParts, WhatIsReadPastAnEndMayBeZero) {
  const Floats y = values_at(17,
                             "(float[2] x, float[4,4] a) => (float[4,4] y) <float[2] z = {3, 0}> "
                             "{ c = Concat<axis = 0>(x, z) y = Div(a, c) }",
                             {{"x", "values(-1, -2)"}, {"a", "uniform(density=0.2,seed=1)"}});
  for (size_t i = 3; i < 16; i += 4) EXPECT_FALSE(std::isfinite(y[i])) << i;
  const Program program =
      imported_with(model_at(17,
                             "(float[2] x) => (float[4] y) <float[2] z = {3, 0}> "
                             "{ c = Concat<axis = 0>(x, z) y = Relu(c) }"),
                    {{"x", "values(-1, -2)"}});
  for (const Tensor& tensor : program.tensors) {
    if (tensor.given()) continue;
    EXPECT_FALSE(tensor.facts.nonzero) << tensor.name;
  }
}

/// ONNX lets a negative step begin at the first element where the start lies before it.
TEST(ImportParts, ANegativeStepBeginsInside) {
  EXPECT_EQ(values_at(17,
                      "(float[4] x) => (float[1] y) <int64[1] a = {-5}, "
                      "int64[1] b = {-2147483648}, int64[1] d = {0}, int64[1] s = {-1}> "
                      "{ y = Slice(x, a, b, d, s) }",
                      {{"x", "values(7, 8, 9, 10)"}}),
            (Floats{7}));
}

TEST(ImportParts, NothingIsRepeated) {
  EXPECT_EQ(values_at(17,
                      "(float[0] x, float[3] w) => (float[3] y) <int64[1] t = {2}> "
                      "{ r = Tile(x, t) s = ReduceSum<keepdims = 0>(r) y = Add(w, s) }",
                      {{"w", "values(1, 2, 3)"}, {"x", "uniform(density=1,seed=1)"}}),
            (Floats{1, 2, 3}));
}

}  // namespace
}  // namespace fuseflow
