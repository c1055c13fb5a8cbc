// Constants of every type, and tensors without elements: what is computed equals numpy's, what
// mixes types is refused. Models are text; results are evaluated by the reference.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "import/import.h"
#include "import_program.h"
#include "ir/print.h"
#include "reference/reference.h"

namespace fuseflow {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

/// A model of one graph, and the initializers that its text cannot say.
class ImportConstants : public testing::Test {
 protected:
  using Floats = std::vector<float>;
  using Binds = std::map<std::string, std::string>;

  void graph(const std::string& text, int opset = 17) {
    const std::string head =
        "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + "]>";
    model_ = onnx_of(head + " g " + text);
  }

  onnx::TensorProto& tensor(const std::string& name, int type, const std::vector<int64_t>& shape) {
    auto& t = *model_.mutable_graph()->add_initializer();
    t.set_name(name);
    t.set_data_type(type);
    for (const int64_t e : shape) t.add_dims(e);
    return t;
  }
  void ints(const std::string& name, const std::vector<int64_t>& values,
            const std::optional<std::vector<int64_t>>& shape = {}) {
    auto& t = tensor(name, onnx::TensorProto::INT64,
                     shape.value_or(std::vector<int64_t>{static_cast<int64_t>(values.size())}));
    for (const int64_t v : values) t.add_int64_data(v);
  }
  void floats(const std::string& name, const Floats& values,
              const std::optional<std::vector<int64_t>>& shape = {}) {
    auto& t = tensor(name, onnx::TensorProto::FLOAT,
                     shape.value_or(std::vector<int64_t>{static_cast<int64_t>(values.size())}));
    for (const float v : values) t.add_float_data(v);
  }

  Program imported(const Binds& binds = {}) {
    ImportOptions options;
    for (const auto& [name, text] : binds) options.bindings[name] = parse_binding(text);
    return import_by_file(model_, options);
  }

  /// The values of result y, of the given shape.
  void expect(const std::vector<int64_t>& shape, const Floats& values, const Binds& binds = {}) {
    const Program program = imported(binds);
    std::vector<std::shared_ptr<const Storage>> inputs(program.tensors.size());
    for (size_t t = 0; t < inputs.size(); ++t) {
      const Tensor& each = program.tensors[t];
      if (each.role != Role::input && each.role != Role::constant) continue;
      inputs[t] = std::make_shared<const Storage>(
          load(each.source, known_shape(each), each.format, each.fill));
    }
    const Value y = evaluate(program, inputs)[static_cast<size_t>(find_tensor(program, "y"))];
    EXPECT_EQ(y.shape, shape);
    ASSERT_EQ(y.elements(), static_cast<int64_t>(values.size()));
    const Floats all = y.dense ? *y.dense : to_dense(*y.sparse);
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_TRUE(same_value(all[i], values[i]))
          << "element " << i << ": " << all[i] << ", " << values[i];
    }
  }

  /// The message with which the model is refused.
  std::string refusal(const Binds& binds = {}) {
    try {
      imported(binds);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::rejected) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "not refused";
    return {};
  }
  void expect_refusal(const std::vector<std::string>& parts, const Binds& binds = {}) {
    const std::string text = refusal(binds);
    for (const std::string& part : parts)
      EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' has no '" << part << "'";
  }

  onnx::ModelProto model_;
};

// --- types that differ where ONNX wants one ---

TEST_F(ImportConstants, RangeOfMixedTypesIsRefused) {
  graph("() => (float[n] y) { r = Range(s, l, d)\n y = Cast <to = 1>(r) }");
  ints("s", {0}, std::vector<int64_t>{});
  floats("l", {3}, std::vector<int64_t>{});
  ints("d", {1}, std::vector<int64_t>{});
  expect_refusal({"node 'Range(r)' (Range)", "0 ('s') and 1 ('l')", "i64 and f32", "Cast"});
}

TEST_F(ImportConstants, ScatterOfMixedTypesIsRefused) {
  for (const char* op : {"ScatterElements", "ScatterND"}) {
    model_ = {};
    graph(std::string("() => (float[3] y) { r = ") + op + "(a, i, u)\n y = Cast <to = 1>(r) }");
    ints("a", {0, 0, 0});
    ints("i", {0, 2, 1},
         std::string(op) == "ScatterND" ? std::vector<int64_t>{3, 1} : std::vector<int64_t>{3});
    floats("u", {1, 2, 3});
    expect_refusal({op, "0 ('a') and 2 ('u')", "i64 and f32"});
  }
}

TEST_F(ImportConstants, BoundIntegersMeetFloatUpdates) {
  graph(
      "(int64[3] x) => (float[3] y) { r = ScatterElements <reduction = \"add\">(x, i, u)\n"
      "y = Cast <to = 1>(r) }");
  ints("i", {0, 2, 1});
  floats("u", {1, 2, 3});
  expect_refusal({"0 ('x') and 2 ('u')"}, {{"x", "values(1,2,3)"}});
}

TEST_F(ImportConstants, ElementwiseAndJoinedOperandsOfMixedTypesAreRefused) {
  for (const char* node : {"Add(a, b)", "Concat <axis = 0>(a, b)", "Where(c, a, b)"}) {
    model_ = {};
    graph(std::string("() => (float[n] y) { y = ") + node + " }");
    ints("a", {1, 2});
    floats("b", {1, 2});
    tensor("c", onnx::TensorProto::BOOL, {1}).add_int32_data(1);
    expect_refusal({"i64 and f32"});
  }
}

TEST_F(ImportConstants, WrongNumbersOfInputsAreRefused) {
  graph("(float[2] x) => (float[2] y) { y = Add(x) }");
  expect_refusal({"node 'Add(y)' (Add)", "1 input", "expected 2"}, {{"x", "values(1,2)"}});
}

TEST_F(ImportConstants, FractionsForAnIntegerInputAreRefused) {
  graph("(int64[3] x) => (float[3] y) { y = Cast <to = 1>(x) }");
  expect_refusal({"--bind x", "integers (i64)", "1.5"}, {{"x", "values(1,1.5,2)"}});
}

TEST_F(ImportConstants, BiasOfAnotherSizeIsRefused) {
  graph("(float[1,2,3] x, float[4,2,1] w) => (float[1,4,3] y) { y = Conv(x, w, b) }");
  floats("b", {1, 2, 3});
  expect_refusal({"node 'Conv(y)' (Conv)", "shape [3]", "[1,4]"},
                 {{"x", "ones()"}, {"w", "ones()"}});
}

TEST_F(ImportConstants, AdviceForLostUpdatesKnowsTheOpset) {
  for (const int opset : {11, 16}) {
    model_ = {};
    graph("(float[3] x) => (float[3] y) { y = ScatterND(x, i, u) }", opset);
    ints("i", {1, 1}, std::vector<int64_t>{2, 1});
    floats("u", {5, 6});
    testing::internal::CaptureStderr();
    expect({3}, {1, 6, 3}, {{"x", "values(1,2,3)"}});
    const std::string warning = testing::internal::GetCapturedStderr();
    EXPECT_NE(warning.find("scatter_add"), std::string::npos) << warning;
    EXPECT_EQ(warning.find("opset 16 or newer") != std::string::npos, opset < 16) << warning;
  }
}

// --- what numpy gives ---

TEST_F(ImportConstants, RangesOfIntegersAndFloats) {
  graph("() => (float[n] y) { r = Range(s, l, d)\n y = Cast <to = 1>(r) }");
  ints("s", {5}, std::vector<int64_t>{});
  ints("l", {-2}, std::vector<int64_t>{});
  ints("d", {-3}, std::vector<int64_t>{});
  expect({3}, {5, 2, -1});
  model_ = {};
  graph("() => (float[n] y) { y = Range(s, l, d) }");
  floats("s", {0}, std::vector<int64_t>{});
  floats("l", {1}, std::vector<int64_t>{});
  floats("d", {0.25F}, std::vector<int64_t>{});
  expect({4}, {0, 0.25F, 0.5F, 0.75F});
}

TEST_F(ImportConstants, RemaindersOfIntegersHaveTheSignOfTheDivisor) {
  graph("() => (float[5] y) { r = Mod(a, b)\n y = Cast <to = 1>(r) }");
  ints("a", {7, -7, 7, -7, 5}, std::vector<int64_t>{5});
  ints("b", {3, 3, -3, -1, -1}, std::vector<int64_t>{5});
  expect({5}, {1, 2, -2, 0, 0});
}

TEST_F(ImportConstants, RangeBetweenExtremesDoesNotOverflow) {
  graph("() => (float[n] y) { r = Range(s, l, d)\n y = Cast <to = 1>(r) }");
  constexpr int64_t kStep = int64_t{1} << 62;
  ints("s", {-2 * kStep}, std::vector<int64_t>{});
  ints("l", {std::numeric_limits<int64_t>::max()}, std::vector<int64_t>{});
  ints("d", {kStep}, std::vector<int64_t>{});
  expect({4}, {-0x1p63F, -0x1p62F, 0, 0x1p62F});
}

TEST_F(ImportConstants, IntegerArithmeticIsNumpys) {
  const std::map<std::string, Floats> cases = {
      {"Div(a, b)", {-3, -3, 0, 2}},  // truncates
      {"Mod(a, b)", {1, -1, 2, 0}},   // the divisor's sign
      {"Mod <fmod = 1>(a, b)", {-1, 1, 2, 0}},
      {"Pow(a, b)", {49, 0, 8, 16}},  // 7 ** -2 truncates to 0
      {"Max(a, b)", {2, 7, 3, 4}},
  };
  for (const auto& [node, values] : cases) {
    model_ = {};
    graph("() => (float[4] y) { r = " + node + "\n y = Cast <to = 1>(r) }");
    ints("a", {-7, 7, 2, 4});
    ints("b", {2, -2, 3, 2});
    SCOPED_TRACE(node);
    expect({4}, values);
  }
}

TEST_F(ImportConstants, CastsToIntegersTruncateAndWrap) {
  const std::map<int, Floats> cases = {
      {onnx::TensorProto::INT64, {2, -2, 300, 0}},
      {onnx::TensorProto::INT32, {2, -2, 300, 0}},
      {onnx::TensorProto::UINT8, {2, 254, 44, 0}},
      {onnx::TensorProto::BOOL, {1, 1, 1, 0}},
  };
  for (const auto& [type, values] : cases) {
    model_ = {};
    graph("() => (float[4] y) { r = Cast <to = " + std::to_string(type) +
          ">(a)\n y = Cast <to = 1>(r) }");
    floats("a", {2.75F, -2.75F, 300, 0});
    SCOPED_TRACE(type);
    expect({4}, values);
  }
}

TEST_F(ImportConstants, CastsBeyondI64GiveItsEnds) {
  graph("() => (float[4] y) { r = Cast <to = 7>(a)\n y = Cast <to = 1>(r) }");
  floats("a", {0x1p63F, -0x1p63F, 0x1p80F, 0x1.fffffep62F});
  expect({4}, {0x1p63F, -0x1p63F, 0x1p63F, 0x1.fffffep62F});
}

TEST_F(ImportConstants, IntegerScatterAdds) {
  graph(
      "() => (float[3] y) { r = ScatterElements <reduction = \"add\">(a, i, u)\n"
      "y = Cast <to = 1>(r) }");
  ints("a", {10, 20, 30});
  ints("i", {0, 2, 0, -1});
  ints("u", {1, 2, 3, 4});
  expect({3}, {14, 20, 36});
}

TEST_F(ImportConstants, BoundIntegersAreScatteredAsIntegers) {
  graph("(int64[3] x) => (float[3] y) { r = ScatterElements(x, i, u)\n y = Cast <to = 1>(r) }");
  ints("i", {0, 2});
  ints("u", {7, 8});
  expect({3}, {7, 2, 8}, {{"x", "values(1,2,3)"}});
}

TEST_F(ImportConstants, GatherJoinAndSliceKeepIntegers) {
  graph(
      "() => (float[5] y) { g = Gather(a, i)\n c = Concat <axis = 0>(g, a)\n"
      "y = Cast <to = 1>(c) }");
  ints("a", {int64_t{1} << 24, 2, 3});
  ints("i", {2, -3});
  expect({5}, {3, 0x1p24F, 0x1p24F, 2, 3});
}

// What a product sums may be joined from parts, on its left or on its right.
TEST_F(ImportConstants, ProductsOfJoinedMatrices) {
  graph(
      "(float[2,3] p, float[2,2] q) => (float[2,2] y) { a = Concat <axis = 1>(p, q)\n"
      "y = MatMul(a, w) }");
  floats("w", {1, 0, 0, 1, 2, 0, 0, 2, 1, 1}, std::vector<int64_t>{5, 2});
  expect({2, 2}, {12, 15, 24, 25}, {{"p", "values(1,2,3,4,5,6)"}, {"q", "values(4,5,6,8)"}});
}

TEST_F(ImportConstants, ProductsByJoinedMatrices) {
  graph(
      "(float[3,2] p, float[2,2] q) => (float[2,2] y) { b = Concat <axis = 0>(p, q)\n"
      "y = MatMul(w, b) }");
  floats("w", {1, 0, 2, 0, 1, 0, 1, 0, 2, 1}, std::vector<int64_t>{2, 5});
  expect({2, 2}, {20, 24, 26, 32}, {{"p", "values(1,2,3,4,5,6)"}, {"q", "values(7,9,9,10)"}});
}

TEST_F(ImportConstants, HalfAndDoubleConstantsKeepTheirType) {
  graph("(double[2] x) => (double[2] y) { b = Add(a, a)\n y = Mul(x, b) }");
  auto& a = tensor("a", onnx::TensorProto::DOUBLE, {2});
  a.add_double_data(1.5);
  a.add_double_data(-2);
  expect({2}, {3, -8}, {{"x", "values(1,2)"}});
}

TEST_F(ImportConstants, FieldsOfAnotherTypeAreNotRead) {
  graph("() => (float[3] y) { y = Cast <to = 1>(a) }");
  auto& a = tensor("a", onnx::TensorProto::INT32, {3});
  for (const int v : {1, 2, 3}) a.add_int32_data(v);
  a.add_int64_data(9);  // of another type, and too few
  expect({3}, {1, 2, 3});
}

// --- tensors without elements ---

TEST_F(ImportConstants, ReductionsOverNothing) {
  const std::map<std::string, float> cases = {{"ReduceSum", 0},     {"ReduceProd", 1},
                                              {"ReduceMax", -kInf}, {"ReduceMin", kInf},
                                              {"ReduceL2", 0},      {"ReduceMean", kNaN}};
  for (const auto& [op, value] : cases) {
    model_ = {};
    const bool input = op == "ReduceSum";  // of opset 13
    graph("(float[2,0] x) => (float[2] y) { y = " + op +
          (input ? " <keepdims = 0>(x, axes) }" : " <keepdims = 0, axes = [1]>(x) }"));
    ints("axes", {1});
    SCOPED_TRACE(op);
    expect({2}, {value, value}, {{"x", "ones()"}});
  }
}

TEST_F(ImportConstants, ProductsOverNothing) {
  graph("(float[2,0] x, float[0,3] w, float[3] b) => (float[2,3] y) { y = Gemm(x, w, b) }");
  expect({2, 3}, {1, 2, 3, 1, 2, 3}, {{"x", "ones()"}, {"w", "ones()"}, {"b", "values(1,2,3)"}});
  model_ = {};
  graph("(float[2,0] x, float[0,3] w) => (float[2,3] y) { y = MatMul(x, w) }");
  expect({2, 3}, Floats(6, 0), {{"x", "ones()"}, {"w", "ones()"}});
}

TEST_F(ImportConstants, EmptyResults) {
  const std::map<std::string, std::vector<int64_t>> cases = {
      {"Add(x, e)", {3, 0}},
      {"Slice(x, zero, zero)", {0, 1}},
      {"Tile(x, one_zero)", {3, 0}},
      {"Expand(x, one_zero)", {3, 0}},
      {"MatMul(f, x)", {0, 1}},
      {"Transpose(e)", {0, 3}},
      {"Softmax <axis = 1>(e)", {3, 0}},
      {"Concat <axis = 1>(e, e)", {3, 0}},
      {"Reshape <allowzero = 1>(e, zero_two)", {0, 2}},
      {"Gather <axis = 1>(x, none)", {3, 0}},
      {"CumSum(e, zero)", {3, 0}},
      {"Flatten(e)", {3, 0}},
      {"Clip(e)", {3, 0}},
  };
  for (const auto& [node, shape] : cases) {
    model_ = {};
    graph("(float[3,1] x) => (float[m,n] y) { y = " + node + " }");
    floats("e", {}, std::vector<int64_t>{3, 0});
    floats("f", {}, std::vector<int64_t>{0, 3});
    ints("zero", {0});
    ints("one_zero", {1, 0});
    ints("zero_two", {0, 2});
    ints("none", {});
    SCOPED_TRACE(node);
    expect(shape, {}, {{"x", "values(1,2,3)"}});
  }
}

TEST_F(ImportConstants, EmptyPartsChangeNothing) {
  const std::vector<std::string> cases = {
      "Concat <axis = 1>(x, e)",    "ScatterElements <axis = 1>(x, no_elements, e)",
      "ScatterND(x, no_tuples, f)", "Add(x, sum)",
      "Pad(e, pads, one)",
  };
  for (const std::string& node : cases) {
    model_ = {};
    graph("(float[3,1] x) => (float[3,1] y) { sum = ReduceSum <keepdims = 1>(e, axis)\n y = " +
          node + " }");
    floats("e", {}, std::vector<int64_t>{3, 0});
    floats("f", {}, std::vector<int64_t>{0, 1});
    ints("no_elements", {}, std::vector<int64_t>{3, 0});
    ints("no_tuples", {}, std::vector<int64_t>{0, 1});
    ints("axis", {1});
    ints("pads", {0, 0, 0, 1});
    floats("one", {1}, std::vector<int64_t>{});
    SCOPED_TRACE(node);
    expect({3, 1}, {1, 1, 1}, {{"x", "ones()"}});
  }
}

TEST_F(ImportConstants, SplitsWithAnEmptyPart) {
  graph("(float[3,2] x) => (float[3,2] y) { a, y = Split <axis = 1>(x, sizes) }");
  ints("sizes", {0, 2});
  expect({3, 2}, {1, 2, 3, 4, 5, 6}, {{"x", "values(1,2,3,4,5,6)"}});
}

TEST_F(ImportConstants, SplitsIntoMoreOutputsThanItsExtentFills) {
  graph("(float[5] x) => (float[1] y, float[0] z) { a, b, y, z = Split <num_outputs = 4>(x) }", 18);
  expect({1}, {5}, {{"x", "values(1,2,3,4,5)"}});
}

TEST_F(ImportConstants, ConvolutionWithoutChannels) {
  graph(
      "(float[1,0,3,3] x, float[2,0,2,2] w, float[2] b) => (float[1,2,2,2] y) { y = Conv(x, w, b) "
      "}");
  expect({1, 2, 2, 2}, {5, 5, 5, 5, 6, 6, 6, 6},
         {{"x", "ones()"}, {"w", "ones()"}, {"b", "values(5,6)"}});
}

TEST_F(ImportConstants, IndicesIntoNothingAreRefused) {
  graph("(float[3,0] x) => (float[3,1] y) { y = Gather <axis = 1>(x, i) }");
  ints("i", {0});
  expect_refusal({"node 'Gather(y)' (Gather)", "index 0", "extent 0"}, {{"x", "ones()"}});
}

TEST_F(ImportConstants, ExtentsThatAZeroHidesAreCounted) {
  graph("() => (float[m,n] y) { y = Flatten(e) }");
  floats("e", {}, std::vector<int64_t>{int64_t{1} << 40, int64_t{1} << 40, 0});
  expect_refusal({"too many elements"});
}

// --- softmax over columns with a mask of large numbers ---

TEST_F(ImportConstants, RowMaximaBehindAFiniteMaskAreAllThere) {
  graph("(float[3,3] x) => (float[3,3] y) { s = Add(x, m)\n y = Softmax <axis = 0>(s) }");
  floats("m", {0, -1e30F, -1e30F, 0, -1e30F, 0, 0, 0, 0}, std::vector<int64_t>{3, 3});
  const Program program = imported({{"x", "values(1,2,3,4,5,6,7,8,9)"}});
  const auto format_of = [&](const char* name) {
    return to_string(program.tensors[static_cast<size_t>(find_tensor(program, name))].format);
  };
  EXPECT_EQ(format_of("s"), "dense,compressed");
  EXPECT_EQ(format_of("y.max"), "dense");
  EXPECT_EQ(format_of("y.sum"), "dense");
  EXPECT_EQ(format_of("y"), "dense,compressed");
}

// --- large numbers: masks where they are added, weights elsewhere ---

/// What is absent of m, of which a few entries are `large` and the rest 0.
TEST_F(ImportConstants, LargeNumbersAreAMaskWhereTheyAreAdded) {
  const auto fill_of = [&](const char* node, float large, size_t number) {
    model_ = {};
    graph("(float[8,8] x) => (float[8,8] y) { " + std::string(node) + " }");
    Floats m(64, 0);
    for (size_t i = 0; i < number; ++i) m[i * 13 % 64] = large;
    floats("m", m, std::vector<int64_t>{8, 8});
    const Program program = imported({{"x", "uniform(density=1,seed=1)"}});
    const Tensor& tensor = program.tensors[static_cast<size_t>(find_tensor(program, "m"))];
    EXPECT_EQ(to_string(tensor.format), "dense,compressed") << node;
    return tensor.fill;
  };
  EXPECT_EQ(fill_of("y = MatMul(m, x)", -1e5F, 8), 0);
  EXPECT_EQ(fill_of("y = MatMul(m, x)", 1e5F, 8), 0);
  EXPECT_EQ(fill_of("y = MatMul(m, x)", -1e5F, 40), -1e5F);  // fewer entries than behind 0
  EXPECT_EQ(fill_of("s = Add(x, m)\n y = Softmax <axis = 1>(s)", -1e5F, 8), -1e5F);
  EXPECT_EQ(fill_of("s = Sub(x, m)\n y = Softmax <axis = 1>(s)", 1e5F, 8), 1e5F);
}

// --- what is taken for granted of masks ---

/// exp(x + m) times a sparse tensor: absent where that one is, if the exponential is finite.
TEST_F(ImportConstants, AMaskThatMayAddInfinityIsNotAssumedAway) {
  for (const float masked : {-kInf, kInf}) {
    model_ = {};
    graph(
        "(float[8, 8] x, float[8, 8] a) => (float[8, 8] y) "
        "{ s = Add(x, m)\n e = Exp(s)\n y = Mul(e, a) }");
    Floats mask(64, 0);
    mask[9] = masked;
    floats("m", mask, std::vector<int64_t>{8, 8});
    const Program program =
        imported({{"x", "uniform(density=1,seed=1)"}, {"a", "uniform(density=0.1,seed=2)"}});
    const Tensor& e = program.tensors[static_cast<size_t>(find_tensor(program, "e"))];
    EXPECT_EQ(e.facts.finite || e.assumed.finite, masked < 0) << print_program(program);
  }
}

}  // namespace
}  // namespace fuseflow
