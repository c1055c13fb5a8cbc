// Quantised operators beyond ONNX's own cases (onnx_nodes_test.cpp): ties, ends of types,
// zero points of rows and columns, what stays in 8 bits, and what is refused by name.
#include <gtest/gtest.h>
#include "import_values.h"

namespace fuseflow {
namespace {

void add_weights(onnx::ModelProto& model, const std::string& name, const std::vector<int>& values,
                 const std::vector<int64_t>& shape) {
  auto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT8);
  for (const int64_t extent : shape) tensor.add_dims(extent);
  for (const int value : values) tensor.add_int32_data(value);
}

const Tensor& tensor_of(const Program& program, const std::string& name) {
  return program.tensors.at(static_cast<size_t>(find_tensor(program, name)));
}

TEST(ImportQuantised, TiesGoToEvenAndEndsSaturate) {
  const Program program = imported_with(
      model_of("(float[6] x, float s, int8 z) => (int8[6] y) { y = QuantizeLinear(x, s, z) }"),
      {{"x", "values(1, 3, -1, -3, 1000, -1000)"}, {"s", "values(2)"}, {"z", "values(-3)"}});
  EXPECT_EQ(result_of(program), (std::vector<float>{-3, -1, -3, -5, 127, -128}));
  EXPECT_EQ(tensor_of(program, "y").type, ElementType::i8);
}

TEST(ImportQuantised, TheScaleOfZerosIsOne) {
  const std::string quantised = "{ q, y, z = DynamicQuantizeLinear(x) }";
  const auto scale_of = [&](const std::string& values) {
    return result_of(
        imported_with(model_of("(float[2] x) => (float y) " + quantised), {{"x", values}}));
  };
  EXPECT_EQ(scale_of("values(0, 0)"), std::vector<float>{1});
  EXPECT_EQ(scale_of("values(-255, 255)"), std::vector<float>{2});
}

TEST(ImportQuantised, ZeroPointsOfRowsAndColumns) {
  const Program program = imported_with(
      model_of("(uint8[2,2] a, int8[2,2] b, uint8[2] p, int8[2] q) => (int32[2,2] y) {"
               "y = MatMulInteger(a, b, p, q) }"),
      {{"a", "values(1, 2, 200, 4)"},
       {"b", "values(1, -2, 3, 4)"},
       {"p", "values(1, 100)"},
       {"q", "values(1, -1)"}});
  // rows [0, 1] and [100, -96], columns [0, 2] and [-1, 5]
  EXPECT_EQ(result_of(program), (std::vector<float>{2, 5, -192, -580}));
  EXPECT_EQ(tensor_of(program, "y").type, ElementType::i32);
  EXPECT_EQ(tensor_of(program, "a").role, Role::input);
}

/// Means of -9 / 4 and 7 / 4, as constants fold.
TEST(ImportQuantised, MeansOfIntegersAreCutTowardsZero) {
  const Binds binds = {{"a", "values(1, 2, 3, 1, -3, -2, -3, -1)"}, {"b", "values(1)"}};
  const Program program = imported_with(
      model_of("(int8[2,4,1] a, int8[1,1] b) => (int32[2,1] y) {"
               "p = MatMulInteger(a, b) y = ReduceMean<axes = [1], keepdims = 0>(p) }"),
      binds);
  EXPECT_EQ(result_of(program), (std::vector<float>{1, -2}));
}

TEST(ImportQuantised, WeightsOfEightBitsStay) {
  onnx::ModelProto model = model_of(
      "(float[2,2] x, float s) => (float[2,2] y) {"
      "d = DequantizeLinear(w, s) y = MatMul(x, d) }");
  add_weights(model, "w", {0, -4, 0, 0}, {2, 2});
  const Program program = imported_with(model, {{"x", "values(1, 2, 3, 4)"}, {"s", "values(0.5)"}});
  EXPECT_EQ(result_of(program), (std::vector<float>{0, -2, 0, -6}));
  EXPECT_EQ(tensor_of(program, "w").type, ElementType::i8);
  EXPECT_EQ(to_string(tensor_of(program, "w").format), "dense,compressed");
  EXPECT_EQ(program.regions.size(), 2U);
}

TEST(ImportQuantised, FloatWeightsAreQuantisedOnce) {
  const Program program =
      imported_with(model_of("(float[2] x, float s, int8 z) => (float[2] y) {"
                             "w = Constant<value = float[2] {0.9, -2.0}>()"
                             "q = QuantizeLinear(w, s, z) d = DequantizeLinear(q, s, z)"
                             "y = Mul(x, d) }"),
                    {{"x", "values(1, 2)"}, {"s", "values(0.5)"}, {"z", "values(0)"}});
  EXPECT_EQ(result_of(program), (std::vector<float>{1, -4}));
  EXPECT_EQ(tensor_of(program, "q").type, ElementType::i8);
  EXPECT_EQ(tensor_of(program, "q").role, Role::constant);
}

TEST(ImportQuantised, WhatIsNotSupportedIsRefusedByName) {
  const Binds binds = {{"x", "uniform(density=1,seed=1)"}, {"s", "uniform(density=1,seed=2)"}};
  EXPECT_NE(fault_at(21,
                     "(float[2,4] x, float[2,3] s) => (uint8[2,4] y) {"
                     "y = QuantizeLinear<block_size = 2>(x, s) }",
                     binds)
                .find("shape [2,3] for blocks of 2 along axis 1 of [2,4], expected [2,2]"),
            std::string::npos);
  EXPECT_NE(
      fault_at(17, "(float[2,4] x, float[3] s) => (uint8[2,4] y) { y = QuantizeLinear(x, s) }",
               binds)
          .find("has shape [3], expected one number, or 4 for axis 1 of [2,4]"),
      std::string::npos);
  EXPECT_NE(
      fault_at(17, "(float[2] x, float s, int32 z) => (int32[2] y) { y = QuantizeLinear(x, s, z) }",
               {{"x", "values(1, 2)"}, {"s", "values(1)"}, {"z", "values(0)"}})
          .find("has type i32, expected integers of up to 16 bits"),
      std::string::npos);
}

TEST(SetFloatTypes, FactsThatRoundingMayBreakAreFoundAgainOrAssumed) {
  Program program =
      imported_with(model_of("(float[3] x) => (float[3] y) { e = Exp(x) y = Mul(x, e) }"),
                    {{"x", "values(1e-9, 0.5, 70000)"}});
  ASSERT_TRUE(tensor_of(program, "x").facts.nonzero);
  EXPECT_TRUE(set_float_types(program, ElementType::f16).empty());
  verify(program);
  const Tensor& x = tensor_of(program, "x");
  EXPECT_EQ(x.type, ElementType::f16);
  EXPECT_FALSE(x.facts.nonzero);  // 1e-9 becomes 0
  EXPECT_FALSE(x.facts.finite);   // 70000 becomes infinite
  EXPECT_TRUE(x.facts.nonnegative);
  EXPECT_EQ(tensor_of(program, "e").type, ElementType::f16);
}

}  // namespace
}  // namespace fuseflow
