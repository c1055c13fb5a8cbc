// Names that a model gives twice or that the importer would give, too; operands by the thousand;
// parts that nothing uses.
#include <gtest/gtest.h>

#include "import_values.h"

namespace fuseflow {
namespace {

/// Names of nodes are there for people: several may be the same.
onnx::ModelProto all_nodes_named(onnx::ModelProto model, const std::string& name) {
  for (auto& node : *model.mutable_graph()->mutable_node()) node.set_name(name);
  return model;
}

TEST(ImportNames, BranchesOfNodesThatShareAName) {
  const auto branch = [](const std::string& op, const std::string& w) {
    return "p () => (float[2] c) <float[1] w = {" + w + "}> { c = " + op + "(x, w) }";
  };
  const auto chosen = [&](const std::string& w) {
    return "If<then_branch = " + branch("Add", w) + ", else_branch = " + branch("Mul", w) + ">";
  };
  const onnx::ModelProto model = model_at(
      17, "(float[2] x) => (float[2] y) <bool yes = {1}, bool no = {0}> { a = " + chosen("2") +
              "(yes) b = " + chosen("3") + "(no) y = Add(a, b) }");
  EXPECT_EQ(result_of(imported_with(all_nodes_named(model, "if"), {{"x", "values(1, 10)"}})),
            (Floats{6, 42}));
}

TEST(ImportNames, CallsOfNodesThatShareAName) {
  const onnx::ModelProto model = onnx_of(
      "<ir_version: 8, opset_import: [\"\" : 17, \"my\" : 1]> g (float[2] x) => "
      "(float[2] y) { t = my.f(x) \"f/t\" = my.f(t) y = Neg(\"f/t\") } "
      "<domain: \"my\", opset_import: [\"\" : 17]> "
      "f (u) => (r) { t = Add(u, u) r = Mul(t, u) }");
  EXPECT_EQ(result_of(imported_with(all_nodes_named(model, "f"), {{"x", "values(1, 2)"}})),
            (Floats{-8, -128}));
}

/// A softmax makes a tensor of its maxima on the way, which would have this name.
TEST(ImportNames, AResultMayHaveTheNameOfAHelper) {
  const Program program = imported_with(
      model_at(17,
               "(float[2,2] x) => (float[2,2] y, float[2] \"y.max\") { y = Softmax(x) "
               "\"y.max\" = ReduceMax<axes = [1], keepdims = 0>(y) }"),
      {{"x", "values(0, 0, 0, 0)"}});
  EXPECT_EQ(result_of(program), (Floats{0.5, 0.5, 0.5, 0.5}));
  const TensorId named = find_tensor(program, "y.max");
  ASSERT_GE(named, 0);
  EXPECT_EQ(program.tensors[static_cast<size_t>(named)].role, Role::result);
}

TEST(ImportNames, AThousandOperands) {
  std::string operands = "x";
  for (int i = 1; i < 1100; ++i) operands += ", x";
  EXPECT_EQ(values_at(17, "(float[2] x) => (float[2] y) { y = Sum(" + operands + ") }",
                      {{"x", "values(1, -2)"}}),
            (Floats{1100, -2200}));
  const Floats joined = values_at(17,
                                  "(float[1] x) => (float[1100] y) { n = Neg(x) m = Relu(x) y = "
                                  "Concat<axis = 0>(n, m" +
                                      operands.substr(4) + ") }",
                                  {{"x", "values(3)"}});
  ASSERT_EQ(joined.size(), 1100U);
  EXPECT_EQ(joined[0], -3);
  EXPECT_EQ(joined[1099], 3);
}

TEST(ImportNames, StringsThatNothingUses) {
  onnx::ModelProto model =
      model_at(17,
               "(float[2] x) => (float[2] y) { s = Constant<value_string = \"a\">() y = Neg(x) "
               "}");
  auto* words = model.mutable_graph()->add_initializer();
  words->set_name("words");
  words->set_data_type(onnx::TensorProto::STRING);
  words->add_dims(1);
  words->add_string_data("a");
  EXPECT_EQ(result_of(imported_with(model, {{"x", "values(1, 2)"}})), (Floats{-1, -2}));
  model.mutable_graph()->mutable_node(1)->set_input(0, "words");
  try {
    imported_with(model, {{"x", "values(1, 2)"}});
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("a tensor of strings"), std::string::npos);
  }
}

TEST(ImportNames, PadsThatCutBeforeTheyMirror) {
  const std::string pads = "(float[4] x) => (float[5] y) <int64[2] p = {-1, 2}> { y = Pad<mode = ";
  const Binds x = {{"x", "values(1, 2, 3, 4)"}};
  EXPECT_EQ(values_at(19, pads + "\"reflect\">(x, p) }", x), (Floats{2, 3, 4, 3, 2}));
  EXPECT_EQ(values_at(19, pads + "\"edge\">(x, p) }", x), (Floats{2, 3, 4, 4, 4}));
  EXPECT_EQ(values_at(19, pads + "\"wrap\">(x, p) }", x), (Floats{2, 3, 4, 2, 3}));
}

TEST(ImportNames, DimensionsThatTheModelDoesNotHave) {
  ImportOptions options;
  options.bindings["x"] = parse_binding("uniform(density=0.5,seed=1)");
  const onnx::ModelProto model = model_at(17, "(float[m] x) => (float[m] y) { y = Neg(x) }");
  const auto fault = [&] {
    try {
      import_by_file(model, options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_NE(fault().find("leaves an extent 'm' open"), std::string::npos) << fault();
  options.dims = {{"m", 3}};
  EXPECT_EQ(fault(), "nothing");
  options.dims["nodes"] = 4;
  EXPECT_NE(fault().find("--dim nodes"), std::string::npos) << fault();
}

}  // namespace
}  // namespace fuseflow
