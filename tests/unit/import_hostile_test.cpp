// Models that lie, and models that are odd: a clear error, bounded memory, no crash.
#include <gtest/gtest.h>

#include <functional>

#include "import/import.h"
#include "import/values/evaluate.h"
#include "ir/verify.h"
#include "onnx_text.h"

namespace fuseflow {
namespace {

constexpr const char* kHead = "<ir_version: 8, opset_import: [\"\" : 17]>\n";

onnx::ModelProto model_of(const std::string& graph) {
  return onnx_of(kHead + graph);
}

Program import_model(const onnx::ModelProto& model,
                     const std::map<std::string, std::string>& binds) {
  ImportOptions options;
  for (const auto& [name, text] : binds) options.bindings[name] = parse_binding(text);
  const std::string bytes = model.SerializeAsString();
  Program program = import_onnx_bytes(bytes, "test.onnx", options);
  verify(program);
  return program;
}

/// The message with which the model is rejected; fails the test if it is not.
std::string rejection(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::rejected) << error.what();
    std::string all;
    for (const Diagnostic& d : error.diagnostics()) all += d.message + "\n";
    return all;
  }
  ADD_FAILURE() << "not rejected";
  return {};
}

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' has no '" << part << "'";
}

const std::map<std::string, std::string> kX = {{"x", "uniform(shape=[2,3],density=1,seed=1)"}};

TEST(ImportHostile, TruncatedProtobuf) {
  const std::string bytes =
      model_of("g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }").SerializeAsString();
  for (size_t n = 0; n < bytes.size(); n += 3) {
    try {
      ImportOptions options;
      options.bindings["x"] = parse_binding("uniform(shape=[2,3],density=1,seed=1)");
      import_onnx_bytes(std::string_view(bytes).substr(0, n), "test.onnx", options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::rejected);
    }
  }
}

TEST(ImportHostile, AllUnsupportedOperatorsAtOnce) {
  const auto model = model_of(
      "g (float[2,3] x) => (float[2,3] y) { a = Foo(x)\n b = com.acme.Bar(a)\n y = MaxRoiPool(b, "
      "b) }");
  const std::string why = rejection([&] { import_model(model, kX); });
  expect_part(why, "operator Foo (node 'Foo(a)') is not supported");
  expect_part(why, "operator com.acme.Bar");
  expect_part(why, "operator MaxRoiPool");
}

TEST(ImportHostile, AllUnboundInputsAtOnce) {
  const auto model = model_of("g (float[2,3] x, float[N,3] z) => (float[2,3] y) { y = Add(x, z) }");
  const std::string why = rejection([&] { import_model(model, {{"zz", "values(1)"}}); });
  expect_part(why, "input 'x' of shape [2,3] is not bound");
  expect_part(why, "input 'z' of shape [N,3] is not bound");
  expect_part(why, "--bind zz: the model has no such input");
}

TEST(ImportHostile, Cycle) {
  const auto model = model_of("g (float[2,3] x) => (float[2,3] y) { y = Add(x, z)\n z = Relu(y) }");
  expect_part(rejection([&] { import_model(model, kX); }), "cycle");
}

TEST(ImportHostile, UndefinedAndTwiceDefinedValues) {
  const auto missing = model_of("g (float[2,3] x) => (float[2,3] y) { y = Add(x, z) }");
  expect_part(rejection([&] { import_model(missing, kX); }), "which nothing defines");
  auto nameless = model_of("g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }");
  nameless.mutable_graph()->mutable_output(0)->clear_name();
  expect_part(rejection([&] { import_model(nameless, kX); }), "output 0 of graph 'g' has no name");
  const auto twice = model_of("g (float[2,3] x) => (float[2,3] y) { y = Relu(x)\n y = Abs(x) }");
  expect_part(rejection([&] { import_model(twice, kX); }), "defined twice");
}

TEST(ImportHostile, NodesWithoutInputsOrOutputs) {
  auto model = model_of("g (float[2,3] x) => (float[2,3] y) { y = Relu(x)\n z = Softplus(x) }");
  model.mutable_graph()->mutable_node(1)->clear_output();
  expect_part(rejection([&] { import_model(model, kX); }), "has no outputs");
  auto norm = model_of(
      "g (float[2,3] x) => (float[2,3] y) { a = Sub(x, x)\n b = Mul(a, a)\n c = ReduceMean(b)\n"
      "d = Add(c, c)\n e = Sqrt(d)\n y = Div(a, e) }");
  norm.mutable_graph()->mutable_node(0)->clear_input();
  rejection([&] { import_model(norm, kX); });
}

TEST(ImportHostile, FewerOutputsThanTheOperatorHas) {
  auto model = model_of("g (float[2,3] x) => (uint8[2,3] y) { y = DynamicQuantizeLinear(x) }");
  expect_part(rejection([&] { import_model(model, kX); }), "has 1 outputs, expected 3");
  model.mutable_opset_import(0)->set_version(10);
  expect_part(rejection([&] { import_model(model, kX); }),
              "is an operator since opset 11, but the node was written for opset 10");
}

TEST(ImportHostile, EmptyScalars) {
  const auto model = model_of(
      "g (float[2,3] x) => (float[2,3] y) <float[0] ratio = {}, bool training = {1}> "
      "{ y = Dropout(x, ratio, training) }");
  expect_part(rejection([&] { import_model(model, kX); }), "training mode drops at random");
}

TEST(ImportHostile, FunctionsThatExpandWithoutEnd) {
  auto model = model_of("g (float[2,3] x) => (float[2,3] y) { y = Relu(x)\n z = f.f0(x) }");
  for (int level = 0; level < 30; ++level) {
    auto* function = model.add_functions();
    function->set_domain("f");
    function->set_name("f" + std::to_string(level));
    for (int call = 0; call < 2; ++call) {
      auto* node = function->add_node();
      node->set_domain("f");
      node->set_op_type("f" + std::to_string(level + 1));
    }
  }
  rejection([&] { import_model(model, kX); });
}

TEST(ImportHostile, LongNames) {
  auto model = model_of("g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }");
  const std::string name(10000, 'n');
  model.mutable_graph()->mutable_node(0)->set_output(0, name);
  model.mutable_graph()->mutable_output(0)->set_name(name);
  EXPECT_EQ(import_model(model, kX).tensors.back().name, name);
  model.mutable_graph()->mutable_node(0)->set_op_type(name);
  EXPECT_LT(rejection([&] { import_model(model, kX); }).size(), 1000U);
}

TEST(ImportHostile, TensorThatClaimsTooMuch) {
  auto model = model_of("g (float[2,3] x) => (float[2,3] y) { y = Add(x, w) }");
  auto* w = model.mutable_graph()->add_initializer();
  w->set_name("w");
  w->set_data_type(onnx::TensorProto::FLOAT);
  w->add_dims(int64_t{1} << 31);
  w->add_dims(int64_t{1} << 31);
  expect_part(rejection([&] { import_model(model, kX); }), "claims 4611686018427387904 elements");
  w->clear_dims();
  w->add_dims(1000);
  expect_part(rejection([&] { import_model(model, kX); }), "claims 1000 elements, but holds 0");
}

TEST(ImportHostile, ValuesTooLargeToCount) {
  auto model = model_of("g (float[2,3] x) => (float[N,M] y) { z = Tile(x, times)\n y = Relu(z) }");
  auto* times = model.mutable_graph()->add_initializer();
  times->set_name("times");
  times->set_data_type(onnx::TensorProto::INT64);
  times->add_dims(2);
  for (const int shift : {59, 31}) {
    times->clear_int64_data();
    times->add_int64_data(int64_t{1} << shift);
    times->add_int64_data((int64_t{1} << shift) + 1);
    rejection([&] { import_model(model, kX); });
  }
}

TEST(ImportHostile, AveragesOverTooManyPositions) {
  const auto model = model_of(
      "g (float[1,1,2,3] x) => (float[1,1,N,M] y) { y = AveragePool <kernel_shape = [2, 2], "
      "pads = [100000, 100000, 100000, 100000], count_include_pad = 1>(x) }");
  rejection([&] { import_model(model, {{"x", "uniform(shape=[1,1,2,3],density=1,seed=1)"}}); });
}

TEST(ImportHostile, ExternalDataOutsideTheFolder) {
  auto model = model_of("g (float[2,3] x) => (float[2,3] y) { y = Add(x, w) }");
  auto* w = model.mutable_graph()->add_initializer();
  w->set_name("w");
  w->set_data_type(onnx::TensorProto::FLOAT);
  w->add_dims(1);
  w->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* entry = w->add_external_data();
  entry->set_key("location");
  for (const char* path : {"../../etc/passwd", "/etc/passwd", ""}) {
    entry->set_value(path);
    expect_part(rejection([&] { import_model(model, kX); }), "not a file below the model's folder");
  }
}

TEST(ImportHostile, SparseTensorsTooLargeToCount) {
  auto model = model_of("g (float[2,3] x) => (float[N,M] y) { y = MatMul(x, w) }");
  auto* w = model.mutable_graph()->add_sparse_initializer();
  w->mutable_values()->set_name("w");
  w->mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
  w->mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  w->mutable_values()->add_dims(0);
  w->mutable_indices()->add_dims(0);
  for (const int64_t e : {int64_t{1} << 40, int64_t{3}}) w->add_dims(e);
  expect_part(rejection([&] { import_model(model, kX); }), "too many elements to count");
}

TEST(ImportHostile, LongChainsBeforeASoftmax) {
  std::string nodes = "m0 = Add(x, mask)\n";
  for (int n = 0; n < 2000; ++n)
    nodes += "m" + std::to_string(n + 1) + " = Add(m" + std::to_string(n) + ", one)\n";
  auto model = model_of("g (float[2,3] x) => (float[2,3] y) { " + nodes + " y = Softmax(m2000) }");
  for (const char* name : {"mask", "one"}) {
    auto* t = model.mutable_graph()->add_initializer();
    t->set_name(name);
    t->set_data_type(onnx::TensorProto::FLOAT);
    t->add_dims(3);
    for (int i = 0; i < 3; ++i) t->add_float_data(name[0] == 'm' && i == 1 ? -1e9F : 0.25F);
  }
  import_model(model, kX);
}

TEST(ImportHostile, TinyRowsAreNotTakenForCheap) {
  const auto steps = [](std::vector<int64_t> shape) {
    return evaluation_steps(whole_tensor(0, ElementType::f32, shape));
  };
  EXPECT_EQ(steps({3, 1000}), 3 * 1000 + 3 * 32);
  EXPECT_EQ(steps({1000, 3}), 3 * 1000 + 1000 * 32);
  EXPECT_EQ(steps({1000, 3, 1}), steps({1000, 3}));  // extents of 1 are no rows
  EXPECT_EQ(steps({}), 1 + 32);
  EXPECT_EQ(steps({1000, 0}), 0);
}

/// Found by fuzzing: folding a chain of them took a minute, expanding to them five.
TEST(ImportHostile, ThousandsOfDimensions) {
  const auto says = [](const std::string& nodes) {
    auto model = model_of("g (float[1] x) => (float[1] y) { " + nodes + " }");
    auto* c = model.mutable_graph()->add_initializer();
    c->set_name("c");
    c->set_data_type(onnx::TensorProto::INT64);
    c->add_dims(2401);
    for (int d = 0; d < 2401; ++d) c->add_int64_data(1);
    return rejection([&] { import_model(model, {{"x", "values(1)"}}); });
  };
  expect_part(says("v = ConstantOfShape(c) a = Abs(v) y = Add(x, a)"),
              "output 'v' has 2401 dimensions, expected at most 64");
  expect_part(says("y = Expand(x, c)"), "a shape of 2401 dimensions, expected at most 64");
  expect_part(says("y = Reshape(x, c)"), "a shape of 2401 dimensions, expected at most 64");
}

TEST(ImportHostile, ShapesThatDisagree) {
  const auto model = model_of("g (float[N,3] x, float[N,3] z) => (float[N,3] y) { y = Add(x, z) }");
  expect_part(rejection([&] {
                import_model(model, {{"x", "uniform(shape=[2,3],density=1,seed=1)"},
                                     {"z", "uniform(shape=[4,3],density=1,seed=1)"}});
              }),
              "4");
  const auto product = model_of("g (float[2,3] x) => (float[2,2] y) { y = MatMul(x, x) }");
  expect_part(rejection([&] { import_model(product, kX); }), "do not multiply");
}

/// Computed, it would have been 0.5; folded, cut to an integer.
TEST(ImportHostile, IntegersAndBooleansForOperatorsThatKnowNone) {
  const std::string told = rejection([] {
    import_model(model_of("g (bool[2] x) => (bool[2] y) { a = And(x, x) y = HardSigmoid(a) }"),
                 {{"x", "values(1, 0)"}});
  });
  expect_part(told, "input 0 ('a') has type bool, expected a floating-point type; put a Cast");
  const std::string numbers = rejection([] {
    import_model(model_of("g (bool[2] x) => (bool[2] y) { a = And(x, x) y = Add(a, a) }"),
                 {{"x", "values(1, 0)"}});
  });
  expect_part(numbers, "input 0 ('a') has type bool, expected a type of numbers; put a Cast");
  const Program program =
      import_model(model_of("g (bool[2] x) => (bool[2] y) { a = And(x, x) y = Not(a) }"),
                   {{"x", "values(1, 0)"}});
  EXPECT_FALSE(program.regions.empty());
}

TEST(ImportHostile, LargeSparseInitializersStaySparse) {
  constexpr int64_t kRows = 100'000'000;
  auto model = model_of("g (float[2,3] x) => (float[N,3] y) { y = MatMul(w, x) }");
  auto* w = model.mutable_graph()->add_sparse_initializer();
  w->mutable_values()->set_name("w");
  w->mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
  w->mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  for (auto* t : {w->mutable_values(), w->mutable_indices()}) t->add_dims(2);
  w->mutable_indices()->add_int64_data(1);
  w->mutable_indices()->add_int64_data(2 * kRows - 2);
  w->mutable_values()->add_float_data(5);
  w->mutable_values()->add_float_data(7);
  w->add_dims(kRows);
  w->add_dims(2);
  const Program program = import_model(model, kX);
  const Tensor& tensor = program.tensors[static_cast<size_t>(find_tensor(program, "w"))];
  EXPECT_EQ(to_string(tensor.format), "dense,compressed");
  EXPECT_EQ(tensor.source.nnz, 2);
  w->mutable_indices()->set_int64_data(1, 1);
  expect_part(rejection([&] { import_model(model, kX); }), "several values for one entry");
  w->mutable_indices()->set_int64_data(1, 2 * kRows);
  expect_part(rejection([&] { import_model(model, kX); }), "outside its shape");
}

TEST(ImportHostile, OperandsOfOtherRanksThanTheOperators) {
  const auto model = model_of(
      "g (float[2,3,4,5] x, float[3] s, float[3] b, float[3] m, float v) => (float[2,3,4,5] y) {"
      " y = BatchNormalization(x, s, b, m, v) }");
  const std::map<std::string, std::string> binds = {
      {"x", "uniform(shape=[2,3,4,5],density=1,seed=1)"},
      {"s", "uniform(shape=[3],density=1,seed=1)"},
      {"b", "uniform(shape=[3],density=1,seed=1)"},
      {"m", "uniform(shape=[3],density=1,seed=1)"},
      {"v", "uniform(shape=[],density=1,seed=1)"}};
  expect_part(rejection([&] { import_model(model, binds); }), "rank 0, expected rank 1");
}

TEST(ImportHostile, NanWeightsAreNotSparse) {
  auto model = model_of("g (float[2,3] x) => (float[2,2] y) { y = MatMul(x, w) }");
  auto* w = model.mutable_graph()->add_initializer();
  w->set_name("w");
  w->set_data_type(onnx::TensorProto::FLOAT);
  w->add_dims(3);
  w->add_dims(2);
  for (int i = 0; i < 6; ++i)
    w->add_float_data(i == 0 ? std::numeric_limits<float>::quiet_NaN() : 0);
  const Program program = import_model(model, kX);
  const TensorId id = find_tensor(program, "w");
  ASSERT_GE(id, 0);
  EXPECT_FALSE(program.tensors[static_cast<size_t>(id)].facts.no_nan);
}

}  // namespace
}  // namespace fuseflow
