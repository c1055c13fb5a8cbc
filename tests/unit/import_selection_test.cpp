// Operators that choose and place elements, on the bits of integers and with shapes that depend on
// values: cases that ONNX's own suite leaves out, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "import_program.h"

namespace fuseflow {
namespace {

Program selected(const std::string& graph, const std::map<std::string, std::string>& binds) {
  const onnx::ModelProto model = onnx_of("<ir_version: 10, opset_import: [\"\" : 26]> g " + graph);
  ImportOptions options;
  for (const auto& [name, source] : binds) options.bindings[name] = parse_binding(source);
  return import_by_file(model, options);
}

/// x: [2, 3].
Floats chosen(const std::string& graph, const std::string& x = "values(3, 1, 3, -2, -2, -5)") {
  return result_of(selected(graph, {{"x", x}}));
}

void refused(const std::string& graph, const std::string& part) {
  try {
    chosen(graph);
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    const std::string why = error.what();
    EXPECT_NE(why.find(part), std::string::npos) << "'" << why << "' has no '" << part << "'";
  }
}

TEST(ImportArgMax, TiesAndNan) {
  const std::string start = "(float[2,3] x) => (int64 y) { y = ";
  EXPECT_EQ(chosen(start + "ArgMax<axis = 1>(x) }"), (Floats{0, 0}));
  EXPECT_EQ(chosen(start + "ArgMax<axis = 1, select_last_index = 1>(x) }"), (Floats{2, 1}));
  EXPECT_EQ(chosen(start + "ArgMin<axis = 0, keepdims = 0>(x) }"), (Floats{1, 1, 1}));
  EXPECT_EQ(chosen(start + "ArgMax<axis = -1>(x) }", "values(3, nan, 4, 1, 2, nan)"),
            (Floats{1, 2}));
  EXPECT_EQ(chosen("(float[2,3] x) => (float[2,3] y) { y = Hardmax<axis = 1>(x) }"),
            (Floats{1, 0, 0, 1, 0, 0}));
}

/// The result indexes other operators only by comparison: OneHot.
TEST(ImportOneHot, OfComputedIndices) {
  EXPECT_EQ(chosen("(float[2,3] x) => (float[2,3] y) <int64 d = {3}, float[2] v = {-1, 2}> { "
                   "i = ArgMax<axis = 1, keepdims = 0>(x) y = OneHot(i, d, v) }",
                   "values(1, 5, 2, 0, -1, 3)"),
            (Floats{-1, 2, -1, -1, -1, 2}));
  // Constant: places count from the end, and what is out of range is nowhere.
  EXPECT_EQ(chosen("(float[2,3] x) => (float[3,4] y) <int64[4] i = {0, -1, 7, 1}, int64 d = {3}, "
                   "float[2] v = {0, 1}> { y = OneHot<axis = 0>(i, d, v) }"),
            (Floats{1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0}));
}

/// Indices that the program computes are compared with all places.
TEST(ImportComputedIndices, GatherAndScatter) {
  const std::string x = "values(1, 5, 2, 6, 0, 3)";
  const std::string places = " <int64 d = {2}> { i = ArgMax<axis = 1, keepdims = 0>(x) ";  // 1, 0
  EXPECT_EQ(chosen("(float[2,3] x) => (float[2,2] y)" + places + "y = Gather<axis = 1>(x, i) }", x),
            (Floats{5, 1, 0, 6}));
  const std::string kept = " { i = ArgMin<axis = 0>(x) ";  // 0, 1, 0
  EXPECT_EQ(
      chosen("(float[2,3] x) => (float[1,3] y)" + kept + "y = GatherElements<axis = 0>(x, i) }", x),
      (Floats{1, 0, 2}));
  EXPECT_EQ(
      chosen("(float[2,3] x) => (float[2,3] y)" + kept +
                 "u = Neg(x) s = ReduceSum<keepdims = 1>(u) t = Constant<value_ints = [1, 3]>() "
                 "v = Expand(s, t) y = ScatterElements<axis = 0>(x, i, v) }",
             x),
      (Floats{-17, 5, -17, 6, -17, 3}));
  // Where several updates are for one element, the last one is kept, or all of them are combined.
  const auto scatter = [&](const std::string& how) {
    return chosen(
        "(float[2,3] x) => (float[2,3] y) <int64[1] o = {1}, int64[1] e = {3}, "
        "int64[1] one = {1}> { a = ArgMin<axis = 1>(x) z = Sub(a, a) "
        "c = Concat<axis = 1>(z, z) v = Slice(x, o, e, one) "
        "y = ScatterElements<axis = 1" +
            how + ">(x, c, v) }",
        x);
  };
  EXPECT_EQ(scatter(""), (Floats{2, 5, 2, 3, 0, 3}));
  EXPECT_EQ(scatter(", reduction = \"add\""), (Floats{8, 5, 2, 9, 0, 3}));
  EXPECT_EQ(scatter(", reduction = \"max\""), (Floats{5, 5, 2, 6, 0, 3}));
  EXPECT_EQ(scatter(", reduction = \"mul\""), (Floats{10, 5, 2, 0, 0, 3}));
  // Tuples of places: [row, column] of a computed column.
  const std::string tuples =
      " <int64[2,1] rows = {1, 0}> { i = ArgMax<axis = 1>(x) t = Concat<axis = 1>(rows, i) ";
  EXPECT_EQ(chosen("(float[2,3] x) => (float[2] y)" + tuples + "y = GatherND(x, t) }", x),
            (Floats{0, 1}));
  EXPECT_EQ(chosen("(float[2,3] x) => (float[2,3] y)" + tuples +
                       "u = ReduceMax<keepdims = 0>(x) n = Constant<value_ints = [2]>() "
                       "v = Expand(u, n) y = ScatterND<reduction = \"add\">(x, t, v) }",
                   x),
            (Floats{7, 5, 2, 6, 6, 3}));
}

/// Two results of one intermediate: the one that is named first turns it.
TEST(ImportResults, OfOneIntermediate) {
  EXPECT_EQ(chosen("(float[2,3] x) => (float[3,2] t, float[1,2,3] o, float[2,3] y) "
                   "<int64[1] zero = {0}> { y = Abs(x) t = Transpose(y) o = Unsqueeze(y, zero) }"),
            (Floats{3, 1, 3, 2, 2, 5}));
}

TEST(ImportCumProd, AllFour) {
  const std::string start = "(float[2,3] x) => (float[2,3] y) <int64 a = {1}> { y = CumProd";
  EXPECT_EQ(chosen(start + "(x, a) }"), (Floats{3, 3, 9, -2, 4, -20}));
  EXPECT_EQ(chosen(start + "<exclusive = 1>(x, a) }"), (Floats{1, 3, 3, 1, -2, 4}));
  EXPECT_EQ(chosen(start + "<reverse = 1>(x, a) }"), (Floats{9, 3, 3, -20, 10, -5}));
  EXPECT_EQ(chosen(start + "<reverse = 1, exclusive = 1>(x, a) }"), (Floats{3, 3, 1, 10, -5, 1}));
}

TEST(ImportValueShapes, OfBoundData) {
  // What decides a shape becomes constant; the rest of the program computes as ever.
  const Program program = selected(
      "(float[2,3] x, bool[3] c) => (float[2,2] y) { z = Compress<axis = 1>(x, c) "
      "y = Neg(z) }",
      {{"x", "values(3, 1, 3, -2, -2, -5)"}, {"c", "values(1, 0, 1)"}});
  EXPECT_EQ(result_of(program), (Floats{-3, -3, 2, 5}));
  EXPECT_LT(find_tensor(program, "c"), 0);
  EXPECT_EQ(chosen("(float[2,3] x) => (float y) { y, i, j, k = Unique(x) }"),
            (Floats{-5, -2, 1, 3}));
  EXPECT_EQ(chosen("(float[2,3] x) => (int64 y) { u, i, y, k = Unique<sorted = 0>(x) }"),
            (Floats{0, 1, 0, 2, 2, 3}));
  EXPECT_EQ(chosen("(float[2,3] x) => (int64 y) { u, i, j, y = Unique<axis = 1>(x) }"),
            (Floats{1, 1, 1}));
  EXPECT_EQ(chosen("(float[2,3] x) => (int64 y) { y = NonZero(x) }", "values(0, 1, 0, 0, 2, 3)"),
            (Floats{0, 1, 1, 1, 1, 2}));
  refused("(float[2,3] x) => (int64 y) { r = Relu(x) y = NonZero(r) }",
          "the shape of the result depends on the tensor (input 0), which the program computes");
}

TEST(ImportBits, ConstantsAndComputedBytes) {
  const auto both = [](const std::string& op, const std::string& type, const std::string& a,
                       const std::string& b) {
    return result_of(selected(
        "(" + type + "[3] a, " + type + "[3] b) => (" + type + "[3] y) { y = " + op + "(a, b) }",
        {{"a", a}, {"b", b}}));
  };
  for (const std::string type : {"int8", "int64"}) {  // computed; folded
    EXPECT_EQ(both("BitwiseAnd", type, "values(12, -1, 7)", "values(10, 5, -8)"),
              (Floats{8, 5, 0}));
    EXPECT_EQ(both("BitwiseOr", type, "values(12, -1, 7)", "values(10, 5, -8)"),
              (Floats{14, -1, -1}));
    EXPECT_EQ(both("BitwiseXor", type, "values(12, -1, 7)", "values(10, 5, -8)"),
              (Floats{6, -6, -1}));
  }
  EXPECT_EQ(both("BitShift<direction = \"LEFT\">", "uint8", "values(1, 200, 3)", "values(7, 1, 2)"),
            (Floats{128, 144, 12}));
  EXPECT_EQ(
      both("BitShift<direction = \"RIGHT\">", "uint8", "values(129, 200, 3)", "values(7, 1, 2)"),
      (Floats{1, 100, 0}));
  refused("(float[2,3] x) => (int32[2,3] y) { i = Cast<to = 6>(x) y = BitwiseNot(i) }",
          "which holds them as f32");
  for (const std::string fractions :
       {"y = BitwiseNot(c)", "y = BitwiseAnd(c, c)", "y = BitShift<direction = \"LEFT\">(c, c)"})
    refused("(float[2,3] x) => (float[2] y) <float[2] c = {1, 1}> { " + fractions + " }",
            "whole numbers");
}

TEST(ImportReverseSequence, KeepsWhatIsBehind) {
  EXPECT_EQ(chosen("(float[2,3] x) => (float[2,3] y) <int64[2] n = {2, 3}> { "
                   "y = ReverseSequence<batch_axis = 0, time_axis = 1>(x, n) }",
                   "values(1, 2, 3, 4, 5, 6)"),
            (Floats{2, 1, 3, 6, 5, 4}));
}

/// One bin of three is the sum, and the next turns by a third.
TEST(ImportDft, RealSamples) {
  const Floats y = chosen(
      "(float[2,3] x) => (float y) <int64 axis = {1}> { s = Constant<value_ints = [2, 3, 1]>() "
      "r = Reshape(x, s) y = DFT<onesided = 1>(r, \"\", axis) }",
      "values(1, 2, 3, 0, 0, 1)");
  const Floats expected = {6, 0, -1.5F, 0.8660254F, 1, 0, -0.5F, 0.8660254F};
  ASSERT_EQ(y.size(), expected.size());
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected[i], 1e-5) << i;
}

}  // namespace
}  // namespace fuseflow
