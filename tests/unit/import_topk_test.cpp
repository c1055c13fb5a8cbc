// TopK beyond ONNX's own cases: ties, what is gathered and scattered by its indices, what is
// declared compressed, there and by hand (--format), and what is refused.
#include <gtest/gtest.h>
#include "import_program.h"

namespace fuseflow {
namespace {

/// x: [2, 4]; y: the model's result.
Program imported_topk(const std::string& shape, const std::string& body,
                      const std::map<std::string, std::string>& formats = {}) {
  const onnx::ModelProto model = model_of("(float[2,4] x) => (" + shape + " y) { " + body + " }");
  ImportOptions options;
  options.bindings["x"] = parse_binding("values(3,1,3,2,-1,-2,-3,-1)");
  for (const auto& [name, format] : formats) options.formats[name] = format;
  return import_by_file(model, options);
}

std::string fault(const std::string& shape, const std::string& body) {
  try {
    imported_topk(shape, body);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

const std::string kTaken = "k = Constant<value_ints = [2]>() v, i = TopK(x, k) ";
const std::string kZeros = "s = Constant<value_ints = [2, 4]>() z = ConstantOfShape(s) ";

TEST(ImportTopK, EqualElementsByPlace) {
  EXPECT_EQ(result_of(imported_topk("float[2,2]", kTaken + "y = Identity(v)")),
            (Floats{3, 3, -1, -1}));
  EXPECT_EQ(result_of(imported_topk("float[2,2]", kTaken + "y = Cast<to = 1>(i)")),
            (Floats{0, 2, 0, 3}));
}

TEST(ImportTopK, SmallestAndOtherAxes) {
  const std::string k = "k = Constant<value_ints = [1]>() ";
  EXPECT_EQ(result_of(imported_topk("float[2,1]", k + "y, i = TopK<largest = 0>(x, k)")),
            (Floats{1, -3}));
  EXPECT_EQ(result_of(imported_topk("float[1,4]", k + "y, i = TopK<axis = 0>(x, k)")),
            (Floats{3, 1, 3, 2}));
  EXPECT_EQ(
      result_of(imported_topk("float[2,1]", k + "m = ReduceMax<axes = [1]>(x) y, i = TopK(m, k)")),
      (Floats{3, -1}));
  const std::string all = "k = Constant<value_ints = [4]>() ";
  EXPECT_EQ(result_of(imported_topk("float[2,4]", all + "y, i = TopK(x, k)")),
            (Floats{3, 3, 2, 1, -1, -1, -2, -3}));
}

TEST(ImportTopK, CountsAsFirstDefined) {
  const auto model = onnx_of(
      "<ir_version: 3, opset_import: [\"\" : 9]> g (float[1,3] x) => (float[1,2] y) { "
      "y, i = TopK<axis = -1, k = 2>(x) }");
  ImportOptions options;
  options.bindings["x"] = parse_binding("values(1, 3, 2)");
  EXPECT_EQ(result_of(import_by_file(model, options)), (std::vector<float>{3, 2}));
}

TEST(ImportTopK, WhatGoesBackStays) {
  const Program program =
      imported_topk("float[2,4]", kTaken + kZeros + "y = ScatterElements<axis = 1>(z, i, v)");
  EXPECT_EQ(result_of(program), (Floats{3, 0, 3, 0, -1, 0, 0, -1}));
  const Tensor& y = program.tensors[static_cast<size_t>(find_tensor(program, "y"))];
  EXPECT_EQ(to_string(y.format), "dense,compressed");
  EXPECT_EQ(program.tensors.size(), 3U);  // x, the ranks and y: no element is moved
}

TEST(ImportTopK, ScattersOtherValues) {
  EXPECT_EQ(
      result_of(imported_topk(
          "float[2,4]", kTaken + kZeros + "r = Relu(v) y = ScatterElements<axis = 1>(z, i, r)")),
      (Floats{3, 0, 3, 0, 0, 0, 0, 0}));
  const std::string ones =
      "t = Constant<value_ints = [2, 2]>() n = Constant<value_float = 1.0>() "
      "o = Expand(n, t) ";
  EXPECT_EQ(result_of(imported_topk(
                "float[2,4]", kTaken + kZeros + ones + "y = ScatterElements<axis = -1>(z, i, o)")),
            (Floats{1, 0, 1, 0, 1, 0, 0, 1}));
}

TEST(ImportTopK, ScattersIntoOtherData) {
  const std::string d = kTaken + "a = Abs(x) n = Neg(v) ";
  EXPECT_EQ(result_of(imported_topk("float[2,4]", d + "y = ScatterElements<axis = 1>(a, i, n)")),
            (Floats{-3, 1, -3, 2, 1, 2, 3, 1}));
  EXPECT_EQ(result_of(imported_topk(
                "float[2,4]", d + "y = ScatterElements<axis = 1, reduction = \"add\">(a, i, v)")),
            (Floats{6, 1, 6, 2, 0, 2, 3, 0}));
}

TEST(ImportTopK, GathersOtherData) {
  EXPECT_EQ(result_of(imported_topk("float[2,2]",
                                    kTaken + "n = Neg(x) y = GatherElements<axis = 1>(n, i)")),
            (Floats{-3, -3, 1, 1}));
}

/// No structure says where a rectifier behind a sum gives 0: its values do.
TEST(ImportTopK, OtherTensorsAreDeclaredByHand) {
  const std::string body = "o = Constant<value_float = -1.0>() a = Add(x, o) y = Relu(a)";
  const auto format = [&](const Program& program) {
    return to_string(program.tensors[static_cast<size_t>(find_tensor(program, "y"))].format);
  };
  EXPECT_EQ(format(imported_topk("float[2,4]", body)), "dense,dense");
  const Program program = imported_topk("float[2,4]", body, {{"y", "dense,compressed"}});
  EXPECT_EQ(format(program), "dense,compressed");
  EXPECT_EQ(result_of(program), (Floats{2, 0, 2, 1, 0, 0, 0, 0}));
}

TEST(ImportTopK, Refused) {
  const auto expect = [](const std::string& shape, const std::string& body,
                         const std::string& part) {
    const std::string why = fault(shape, body);
    EXPECT_NE(why.find(part), std::string::npos) << "'" << why << "' has no '" << part << "'";
  };
  expect("float[2,2]", "k = Constant<value_ints = [5]>() y, i = TopK(x, k)",
         "cannot take 5 of 4 elements");
  expect("float[2,2]", "k = ReduceMax<keepdims = 1>(x) c = Cast<to = 7>(k) y, i = TopK(x, c)",
         "constant");
  expect("float[2,1]",
         "s = Constant<value_ints = [2, 8200]>() p = Constant<value_ints = [2, 1]>() "
         "r = ReduceMax<axes = [1]>(x) w = Expand(r, s) k = Constant<value_ints = [1]>() "
         "y, i = TopK(w, k)",
         "too long");
  expect("float[2,2]", kTaken + "y = GatherElements<axis = 0>(x, i)", "expected the same");
}

}  // namespace
}  // namespace fuseflow
