// Element types of few bits: how they are read, what Casts and quantisation make of numbers, blocks
// with scales of their own, convolutions of integers. And where weights may be.
#include <cmath>
#include <filesystem>
#include <fstream>

#include "import_values.h"
#include "ir/print.h"

namespace fuseflow {
namespace {

namespace fs = std::filesystem;

ElementType result_type(const Program& program) {
  return program.tensors.at(static_cast<size_t>(find_tensor(program, "y"))).type;
}

onnx::TensorProto& add_tensor(onnx::ModelProto& model, int type,
                              const std::vector<int64_t>& shape) {
  auto& w = *model.mutable_graph()->add_initializer();
  w.set_name("w");
  w.set_data_type(type);
  for (const int64_t extent : shape) w.add_dims(extent);
  return w;
}

/// Five elements of a type in raw bytes, as f32.
Floats cast_of(int type, const std::string& bytes) {
  onnx::ModelProto model =
      model_at(24, "(float x) => (float[5] y) { f = Cast<to = 1>(w) y = Add(f, x) }");
  add_tensor(model, type, {5}).set_raw_data(bytes);
  return result_of(imported_with(model, {{"x", "values(0)"}}));
}

TEST(ImportTypes, FewBitsShareBytes) {
  using T = onnx::TensorProto;
  EXPECT_EQ(cast_of(T::INT4, std::string("\x21\xf8\x07", 3)), (Floats{1, 2, -8, -1, 7}));
  EXPECT_EQ(cast_of(T::UINT4, std::string("\x21\xf8\x07", 3)), (Floats{1, 2, 8, 15, 7}));
  EXPECT_EQ(cast_of(T::INT2, std::string("\xe4\x01", 2)), (Floats{0, 1, -2, -1, 1}));
  EXPECT_EQ(cast_of(T::UINT2, std::string("\xe4\x01", 2)), (Floats{0, 1, 2, 3, 1}));
  EXPECT_EQ(cast_of(T::FLOAT4E2M1, std::string("\x21\xf7\x0b", 3)), (Floats{0.5, 1, 6, -6, -1.5}));
}

TEST(ImportTypes, FloatsOfEightBits) {
  using T = onnx::TensorProto;
  const float nan = std::nanf("");
  const std::string bytes("\x01\x38\xb8\x7e\x7f", 5);
  expect_values(cast_of(T::FLOAT8E4M3FN, bytes), {0x1p-9F, 1, -1, 448, nan});
  expect_values(cast_of(T::FLOAT8E4M3FNUZ, bytes), {0x1p-10F, 0.5, -0.5, 224, 240});
  expect_values(cast_of(T::FLOAT8E5M2, std::string("\x01\x3c\xbc\x7b\x7f", 5)),
                {0x1p-16F, 1, -1, 57344, nan});
  expect_values(cast_of(T::FLOAT8E5M2FNUZ, std::string("\x01\x3c\xbc\x7f\x80", 5)),
                {0x1p-17F, 0.5, -0.5, 57344, nan});
  expect_values(cast_of(T::FLOAT8E8M0, std::string("\x7f\x80\x7e\x81\xff", 5)),
                {1, 2, 0.5, 4, nan});
}

/// x through ONNX type `code` and back.
Floats through(int code, const std::string& x, const std::string& attributes = "") {
  return values_at(24,
                   "(float[6] x) => (float[6] y) { n = Cast<to = " + std::to_string(code) +
                       attributes + ">(x) y = Cast<to = 1>(n) }",
                   {{"x", "values(" + x + ")"}});
}

TEST(ImportTypes, CastsRoundAndSaturate) {
  const float nan = std::nanf("");
  const std::string x = "0.3, 460, 470, -inf, 0.0009765625, 3.4";
  expect_values(through(17, x), {0.3125, 448, 448, -448, 0, 3.5});
  expect_values(through(17, x, ", saturate = 0"), {0.3125, 448, nan, nan, 0, 3.5});
  expect_values(through(18, x), {0.3125, 240, 240, -240, 0.0009765625, 3.5});
  expect_values(through(18, "0.3, 236, 250, -inf, 231, 3.4", ", saturate = 0"),
                {0.3125, 240, nan, nan, 224, 3.5});
  expect_values(through(19, "0.3, 60000, 1e6, -inf, 0.00001, 3.4"),
                {0.3125, 57344, 57344, -57344, 0x1p-17F * 2, 3.5}, 1e-6F);
  expect_values(through(20, "0.3, 60000, 1e6, -inf, 0.00001, 3.4"),
                {0.3125, 57344, 57344, -57344, 0x1p-17F, 3.5}, 1e-6F);
  expect_values(through(23, "0.3, 0.25, 2.5, -7, 5, 1.2"), {0.5, 0, 2, -6, 4, 1});
}

TEST(ImportTypes, TensorsOfEightBitsAreDeclaredSo) {
  const Program program =
      imported_with(model_at(19, "(float[2] x) => (float8e4m3fn[2] y) { y = Cast<to = 17>(x) }"),
                    {{"x", "values(1, 1000)"}});
  EXPECT_EQ(result_type(program), ElementType::f8e4m3);
  EXPECT_EQ(result_of(program), (Floats{1, 448}));
}

/// All statements in one region, as `fuseflow-fuse --strategy=full` has them.
Program as_one_region(Program program) {
  std::vector<Statement>& all = program.regions[0].statements;
  for (size_t r = 1; r < program.regions.size(); ++r) {
    const std::vector<Statement>& more = program.regions[r].statements;
    all.insert(all.end(), more.begin(), more.end());
  }
  program.regions.resize(1);
  return program;
}

TEST(ImportTypes, ResultsOfSixteenBitsAreRoundedWhateverIsFused) {
  const Binds binds = {{"a", "values(2048, 1)"}, {"b", "values(1, 1)"}, {"c", "values(2048)"}};
  const auto model = [](const std::string& type) {
    return model_at(17, "(" + type + "[1,2] a, " + type + "[2,1] b, " + type + "[1,1] c) => (" +
                            type + "[1,1] y) { m = MatMul(a, b) r = Relu(m) y = Sub(r, c) }");
  };
  const Program half = imported_with(model("float16"), binds);
  EXPECT_EQ(result_of(half), Floats{0});  // 2049 is no f16: 2048 is
  EXPECT_EQ(result_of(as_one_region(half)), Floats{0});
  EXPECT_EQ(result_of(as_one_region(imported_with(model("bfloat16"), binds))), Floats{0});
  EXPECT_EQ(result_of(as_one_region(imported_with(model("float"), binds))), Floats{1});
  // Of a value of the type a rectifier makes one of the type; a result is rounded where it is
  // stored.
  const auto rounds = [&](size_t region) {
    const Expr& root = half.regions[region].statements[0].root();
    return root.kind == Expr::Kind::apply && root.op == Op::f16;
  };
  EXPECT_TRUE(rounds(0));
  EXPECT_FALSE(rounds(1));
  EXPECT_FALSE(rounds(2));

  ImportOptions given;  // --type says what is stored, and no more
  given.round_results = false;
  for (const auto& [name, text] : binds) given.bindings[name] = parse_binding(text);
  EXPECT_EQ(result_of(as_one_region(import_by_file(model("float16"), given))), Floats{1});
}

/// Of a sparse tensor the absent entries are rounded as the others are.
TEST(ImportTypes, FillsOfSixteenBitsAreRounded) {
  const auto model =
      model_at(17,
               "(float16[2,4] x) => (float16[2,4] y) <float16 c = {26624}, float16 one = {15360}> "
               "{ a = Add(x, c) b = Add(a, one) y = Sub(b, c) }");  // 26624 are the bits of 2048
  for (const char* format : {"dense,compressed", "dense,dense"}) {
    ImportOptions options;
    options.bindings["x"] = parse_binding("values(0, 3, 0, 0, 0, 0, 0, 0)");
    options.formats["x"] = format;
    const Program program = import_by_file(model, options);
    EXPECT_EQ(result_of(program), (Floats{0, 4, 0, 0, 0, 0, 0, 0})) << print_program(program);
    EXPECT_EQ(result_of(as_one_region(program)), (Floats{0, 4, 0, 0, 0, 0, 0, 0}));
  }
}

TEST(ImportTypes, BlocksHaveScalesOfTheirOwn) {
  onnx::ModelProto model = model_at(
      21,
      "(float[1,2] s) => (float[1,4] y) { y = DequantizeLinear<axis = 1, block_size = 2>(w, s)"
      " }");
  add_tensor(model, onnx::TensorProto::INT4, {1, 4}).set_raw_data(std::string("\x78\xf1", 2));
  EXPECT_EQ(result_of(imported_with(model, {{"s", "values(1, 10)"}})), (Floats{-8, 7, 10, -10}));
  // A last block that is not full.
  const std::string quantise =
      "(float[1,3] x, float[1,2] s) => (int4[1,3] y) { y = QuantizeLinear<axis = 1, block_size = 2,"
      " output_dtype = 22>(x, s) }";
  const Program program =
      imported_with(model_at(21, quantise), {{"x", "values(3, -30, 40)"}, {"s", "values(2, 10)"}});
  EXPECT_EQ(result_of(program), (Floats{2, -8, 4}));
  EXPECT_EQ(result_type(program), ElementType::i8);
}

TEST(ImportTypes, WeightsOfFewBits) {
  onnx::ModelProto model =
      model_at(17,
               "(float[1,4] x, float[2] s) => (float[1,1] y) { y = com.microsoft.MatMulNBits<K "
               "= 4, N = 1, bits = 4, block_size = 2>(x, w, s) }");
  // 1, 2 and 3, 4, each minus 8.
  add_tensor(model, onnx::TensorProto::UINT8, {1, 2, 1}).set_raw_data(std::string("\x21\x43", 2));
  const Program program =
      imported_with(model, {{"x", "values(1, 1, 1, 2)"}, {"s", "values(1, 10)"}});
  EXPECT_EQ(result_of(program), (Floats{-13 - 50 - 80}));
}

TEST(ImportQuantisedConv, PadsWithTheZeroPoint) {
  const std::string integer =
      "(uint8[1,1,3] x) => (int32[1,1,3] y) <uint8[1,1,2] w = {1, 2}, uint8 p = {1}> { y = "
      "ConvInteger<pads = [0, 1]>(x, w, p) }";
  EXPECT_EQ(values_at(13, integer, {{"x", "values(2, 3, 5)"}}), (Floats{5, 10, 4}));
  const std::string whole =
      "(uint8[1,1,3] x) => (uint8[1,2,2] y) <int8[2,1,2] w = {1, 2, 1, 0}, float s = {0.5}, uint8 "
      "p = {1}, float[2] ws = {1, 2}, int8 wz = {0}, float ys = {0.25}, uint8 yz = {3}, int32[2] b "
      "= {0, 1}> { y = QLinearConv(x, s, p, w, ws, wz, ys, yz, b) }";
  EXPECT_EQ(values_at(13, whole, {{"x", "values(2, 3, 5)"}}), (Floats{13, 23, 11, 15}));
}

TEST(ImportTypes, SparseInputsAreInputs) {
  onnx::ModelProto model =
      model_at(17, "(float[2,3] x, float[2,3] z) => (float[2,3] y) { y = Add(x, z) }");
  auto& type = *model.mutable_graph()->mutable_input(0)->mutable_type();
  const onnx::TypeProto::Tensor dense = type.tensor_type();
  type.mutable_sparse_tensor_type()->set_elem_type(dense.elem_type());
  *type.mutable_sparse_tensor_type()->mutable_shape() = dense.shape();
  EXPECT_EQ(result_of(imported_with(
                model, {{"x", "values(0, 0, 5, 0, 7, 0)"}, {"z", "values(1, 1, 1, 1, 1, 1)"}})),
            (Floats{1, 1, 6, 1, 8, 1}));
}

// ---- weights beside the model

class ImportLinks : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("fuseflow_links_" + std::to_string(getpid()));
    fs::create_directories(root_ / "blobs");
    fs::create_directories(root_ / "snapshot");
    onnx::ModelProto model = model_at(17, "(float[2] x) => (float[2] y) { y = Add(x, w) }");
    auto& w = add_tensor(model, onnx::TensorProto::FLOAT, {2});
    w.set_data_location(onnx::TensorProto::EXTERNAL);
    auto* entry = w.add_external_data();
    entry->set_key("location");
    entry->set_value("model.onnx_data");
    model_ = model.SerializeAsString();
    const float weights[] = {10, 20};
    write_output((root_ / "blobs/bbb").string(),
                 std::string(reinterpret_cast<const char*>(weights), sizeof weights));
    fs::create_symlink("../blobs/bbb", root_ / "snapshot/model.onnx_data");
  }
  void TearDown() override { fs::remove_all(root_); }

  Floats values(bool follow) {
    register_onnx_sources();
    ImportOptions options;
    options.bindings["x"] = parse_binding("values(1, 2)");
    options.follow_links = follow;
    return result_of(import_onnx((root_ / "snapshot/model.onnx").string(), options));
  }

  fs::path root_;
  std::string model_;
};

TEST_F(ImportLinks, LeadWhereTheModelsOwnLinkLeads) {
  write_output((root_ / "blobs/aaa").string(), model_);
  fs::create_symlink("../blobs/aaa", root_ / "snapshot/model.onnx");
  EXPECT_EQ(values(false), (Floats{11, 22}));
}

TEST_F(ImportLinks, LeadAnywhereIfTheUserSaysSo) {
  write_output((root_ / "snapshot/model.onnx").string(), model_);
  try {
    values(false);
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("--follow-links"), std::string::npos) << error.what();
  }
  EXPECT_EQ(values(true), (Floats{11, 22}));
}

}  // namespace
}  // namespace fuseflow
