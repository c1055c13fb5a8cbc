// Models that say one thing twice, or what has no meaning: read by the rule of ONNX where there is
// one, else refused by name.
#include <gtest/gtest.h>

#include "import_values.h"
#include "support/stop.h"
#include "tensor/element_type.h"

namespace fuseflow {
namespace {

const Binds kFour = {{"x", "values(1, 2, 3, 4)"}};

Floats values_of_model(const std::string& text, const Binds& binds) {
  return result_of(imported_with(onnx_of(text), binds));
}

/// Below opset 13 Hardmax takes all dimensions behind its axis as one; since then, that of its
/// axis.
TEST(ImportContradictions, TheHighestOpsetOfADomainHolds) {
  const Floats by_row = {0, 1, 0, 1};
  const std::string node = "g (float[1,2,2] x) => (float[1,2,2] y) { y = Hardmax(x) }";
  const auto at = [&](const std::string& sets) {
    return values_of_model("<ir_version: 8, opset_import: [" + sets + "]> " + node, kFour);
  };
  const Floats flat = {0, 0, 0, 1};  // of opset 11: one row
  EXPECT_EQ(at("\"\" : 11"), flat);
  EXPECT_EQ(at("\"\" : 18, \"\" : 11"), by_row);
  EXPECT_EQ(at("\"\" : 11, \"ai.onnx\" : 18"), by_row);
  EXPECT_EQ(at("\"ai.onnx\" : 18, \"\" : 11"), by_row);
}

TEST(ImportContradictions, TheHighestOpsetOfAFunctionHolds) {
  const auto at = [&](const std::string& sets) {
    return values_of_model(
        "<ir_version: 9, opset_import: [\"\" : 18, \"my\" : 1]> "
        "g (float[1,2,2] x) => (float[1,2,2] y) { y = my.f(x) } "
        "<domain: \"my\", opset_import: [" +
            sets + "]> f (a) => (b) { b = Hardmax(a) }",
        kFour);
  };
  EXPECT_EQ(at("\"\" : 11"), (Floats{0, 0, 0, 1}));
  EXPECT_EQ(at("\"\" : 18, \"ai.onnx\" : 11"), (Floats{0, 1, 0, 1}));
}

/// The constant exp(w) is computed again where the program is run, without the data of x.
TEST(ImportContradictions, IntegersMayBeDividedByWhatIsComputed) {
  const std::string head =
      "(float[2,2] x) => (float[2,2] y) <int32 k = {12}, float[2] w = {0, 0}> { v = Exp(w)\n"
      "c = Cast<to = 6>(x)\n";
  EXPECT_EQ(values_at(18, head + "d = Div(k, c)\n e = Cast<to = 1>(d)\n y = Mul(e, v) }", kFour),
            (Floats{12, 6, 4, 3}));
  EXPECT_EQ(values_at(18, head + "d = Mod(k, c)\n e = Cast<to = 1>(d)\n y = Mul(e, v) }", kFour),
            (Floats{0, 0, 0, 0}));
  const std::string fmod = "d = Mod<fmod = 1>(k, c)\n e = Cast<to = 1>(d)\n y = Mul(e, v) }";
  EXPECT_EQ(values_at(18, head + fmod, kFour), (Floats{0, 0, 0, 0}));
}

TEST(ImportContradictions, AConstantDivisorOfZeroIsRefusedByName) {
  const std::string head =
      "(float[4] x) => (float[4] y) <int32[4] k = {1, 2, 0, 3}> { "
      "a = Cast<to = 6>(x)\n";
  const std::string told = "integer division by zero: element 2 of the divisor (input 1) is 0";
  for (const std::string op : {"Div", "Mod", "Mod<fmod = 1>"}) {
    const std::string graph = head + "d = " + op + "(a, k)\n y = Cast<to = 1>(d) }";
    expect_refused(18, graph, kFour, told);
    expect_refused(18, graph, kFour, "node '" + op.substr(0, 3) + "(d)'");
  }
}

/// 2048 + 1 lies between two numbers of f16, of which the even one is taken.
TEST(ImportContradictions, FoldedResultsAreRoundedToTheirType) {
  const auto scattered = [&](const std::string& scatter) {
    return values_at(18,
                     "(float[1] x) => (float[2] y) <float[2] d = {2048, 1}, float[1] u = {1}, "
                     "int64[1] i = {0}, int64[1,1] n = {0}> { "
                     "a = Cast<to = 10>(d)\n b = Cast<to = 10>(u)\n s = " +
                         scatter + "\n c = Cast<to = 1>(s)\n y = Add(c, x) }",
                     {{"x", "values(0)"}});
  };
  EXPECT_EQ(scattered("ScatterElements<reduction = \"add\">(a, i, b)"), (Floats{2048, 1}));
  EXPECT_EQ(scattered("ScatterND<reduction = \"add\">(a, n, b)"), (Floats{2048, 1}));
}

TEST(ImportContradictions, WindowsAreRoundedToTheirType) {
  const Floats window = values_at(18,
                                  "(float[1] x) => (float[5] y) <int64 n = {5}> { "
                                  "w = HannWindow<output_datatype = 10>(n)\n"
                                  "c = Cast<to = 1>(w)\n y = Add(c, x) }",
                                  {{"x", "values(0)"}});
  for (const float v : window) EXPECT_EQ(v, rounded(v, ElementType::f16));
}

TEST(ImportContradictions, AnAttributeTwiceIsRefused) {
  expect_refused(18, "(float[4] x) => (float[4] y) { y = LeakyRelu<alpha = 0.5, alpha = 0.25>(x) }",
                 kFour, "node 'LeakyRelu(y)' (LeakyRelu) has the attribute 'alpha' twice");
}

TEST(ImportContradictions, AttributesOfAFunctionAreItsOwn) {
  expect_refused(18, "(float[4] x) => (float[4] y) { y = LeakyRelu<alpha : float = @a>(x) }", kFour,
                 "attribute 'alpha' refers to the attribute 'a' of a function, but the node is in "
                 "no function");
  const auto model = onnx_of(
      "<ir_version: 9, opset_import: [\"\" : 18, \"my\" : 1]> "
      "g (float[4] x) => (float[4] y) { y = my.f(x) } "
      "<domain: \"my\", opset_import: [\"\" : 18]> "
      "f (u) => (v) { v = LeakyRelu<alpha : float = @a>(u) }");
  EXPECT_NE(fault_of(model, kFour).find("but function 'f' has none of this name"),
            std::string::npos);
}

TEST(ImportContradictions, AnInputTwiceIsRefused) {
  expect_refused(18, "(float[4] x, float[4] x) => (float[4] y) { y = Relu(x) }", kFour,
                 "input 'x' of graph 'g' is given twice");
}

TEST(ImportContradictions, GraphsNameWhatTheyTakeAndGive) {
  const onnx::ModelProto model = model_at(
      17,
      "(float[3,2] x, float[2] s) => (float[2] y, float[3,2] z) { y, z = Scan<num_scan_inputs = 1, "
      "body = b (float[2] a, float[2] e) => (float[2] c, float[2] d) { c = Add(a, e)\n d = Abs(c) "
      "}>(s, x) }");
  const Binds binds = {{"x", "values(1, 2, 3, 4, 5, 6)"}, {"s", "values(0, 0)"}};
  EXPECT_EQ(result_of(imported_with(model, binds)), (Floats{9, 12}));
  const auto fault_without = [&](const auto& port_of) {
    onnx::ModelProto nameless = model;
    port_of(*nameless.mutable_graph()).clear_name();
    return fault_of(nameless, binds);
  };
  const auto body = [](onnx::GraphProto& graph) -> onnx::GraphProto& {
    for (auto& attribute : *graph.mutable_node(0)->mutable_attribute()) {
      if (attribute.has_g()) return *attribute.mutable_g();
    }
    return graph;
  };
  EXPECT_NE(fault_without([](onnx::GraphProto & g) -> auto& {
              return *g.mutable_output(1);
            }).find("output 1 of graph"),
            std::string::npos);
  EXPECT_NE(fault_without([&](onnx::GraphProto & g) -> auto& {
              return *body(g).mutable_output(1);
            }).find("output 1 of graph 'b' has no name"),
            std::string::npos);
  EXPECT_NE(fault_without([&](onnx::GraphProto & g) -> auto& {
              return *body(g).mutable_input(0);
            }).find("input 0 of graph 'b' has no name"),
            std::string::npos);
}

TEST(ImportContradictions, ModesOfDepthToSpace) {
  const std::string head = "(float[1,4,1,1] x) => (float[1,1,2,2] y) { y = DepthToSpace<";
  EXPECT_EQ(values_at(13, head + "blocksize = 2, mode = \"CRD\">(x) }", kFour),
            (Floats{1, 2, 3, 4}));
  expect_refused(13, head + "blocksize = 2, mode = \"crd\">(x) }", kFour,
                 "attribute 'mode' is 'crd', expected DCR or CRD");
}

TEST(ImportContradictions, AShapeThatLeavesTheExtentOpenIsRefused) {
  for (const char* const reshape : {"Reshape<allowzero = 1>", "Reshape"}) {
    expect_refused(18,
                   "(float[0,4] x) => (float[0,4] y) <int64[2] s = {0, -1}> { y = " +
                       std::string(reshape) + "(x, s) }",
                   {{"x", "uniform(density=1,seed=1)"}},
                   "shape [0,-1] has an extent of 0, beside which a -1 may be any extent");
  }
}

TEST(ImportContradictions, ASplitHasASizeForEachOutput) {
  expect_refused(18, "(float[4] x) => (float[1] y) <int64[3] s = {1, 1, 2}> { y, z = Split(x, s) }",
                 kFour, "3 sizes for 2 outputs, expected one size for each output");
}

TEST(ImportContradictions, PadsAreGivenOrAutomatic) {
  const std::string window = "kernel_shape = [2], pads = [1, 1], auto_pad = \"SAME_UPPER\"";
  const std::string told = "attribute 'pads' is [1,1] beside 'auto_pad' SAME_UPPER";
  for (const std::string op : {"MaxPool", "AveragePool", "LpPool"}) {
    expect_refused(18, "(float[1,1,4] x) => (float[1,1,4] y) { y = " + op + "<" + window + ">(x) }",
                   kFour, told);
  }
  for (const std::string op : {"Conv", "ConvTranspose"}) {
    expect_refused(18,
                   "(float[1,1,4] x) => (float[1,1,4] y) <float[1,1,2] w = {1, 2}> { y = " + op +
                       "<" + window + ">(x, w) }",
                   kFour, told);
  }
  EXPECT_EQ(values_at(18,
                      "(float[1,1,4] x) => (float[1,1,4] y) { y = MaxPool<kernel_shape = [2], "
                      "pads = [0, 0], auto_pad = \"SAME_UPPER\">(x) }",
                      kFour),
            (Floats{2, 3, 4, 4}));
}

TEST(ImportContradictions, NumbersThatTheTypeOfATensorLacksAreRefused) {
  const auto with = [](const std::string& type, const std::string& number) {
    return "(float[1] x) => (float[1] y) <" + type + "[1] w = {" + number +
           "}> { c = Cast<to = 1>(w)\n y = Mul(x, c) }";
  };
  const Binds one = {{"x", "values(1)"}};
  EXPECT_EQ(values_at(21, with("int8", "-128"), one), Floats{-128});
  EXPECT_EQ(values_at(21, with("uint16", "65535"), one), Floats{65535});
  expect_refused(21, with("int8", "128"), one,
                 "tensor 'w' is of type INT8, but element 0 of its int32_data is 128, expected "
                 "-128 to 127");
  expect_refused(21, with("uint8", "-1"), one, "is -1, expected 0 to 255");
  expect_refused(21, with("int16", "40000"), one, "expected -32768 to 32767");
  expect_refused(21, with("uint16", "65536"), one, "expected 0 to 65535");
  expect_refused(21, with("bool", "2"), one, "is 2, expected 0 to 1");
  expect_refused(21, with("float16", "70000"), one, "type FLOAT16, but element 0");
  expect_refused(21, with("bfloat16", "-1"), one, "type BFLOAT16, but element 0");
  expect_refused(21, with("uint32", "4294967296"), one, "of its uint64_data is 4294967296");
}

TEST(ImportContradictions, ElementsTwiceAreRefused) {
  auto model = model_at(18, "(float[1] x) => (float[1] y) <float[1] w = {2}> { y = Mul(x, w) }");
  model.mutable_graph()->mutable_initializer(0)->set_raw_data(std::string(4, '\0'));
  EXPECT_NE(fault_of(model, {{"x", "values(1)"}})
                .find("tensor 'w' has its elements twice: as raw_data and as typed numbers"),
            std::string::npos);
}

std::string warnings_of(const std::string& graph, const Binds& binds) {
  testing::internal::CaptureStderr();
  imported_with(model_at(18, graph), binds);
  return testing::internal::GetCapturedStderr();
}

TEST(ImportContradictions, AnOutputOfAnotherTypeIsWarnedOf) {
  EXPECT_NE(warnings_of("(float[4] x) => (int64[4] y) { y = Relu(x) }", kFour)
                .find("output 'y': the model declares the type i64, but its nodes give f32"),
            std::string::npos);
  EXPECT_EQ(warnings_of("(float[4] x) => (float[4] y) { y = Relu(x) }", kFour), "");
}

/// What is said of large numbers: x as i32, an operator, and its result as f32.
std::string said_of_integers(const std::string& node, const std::string& x,
                             const std::string& type = "6") {
  return warnings_of("(float[2] x) => (float[n] y) <int32[2] k = {3, 5}> { a = Cast<to = " + type +
                         ">(x)\n b = " + node + "\n y = Cast<to = 1>(b) }",
                     {{"x", x}});
}

TEST(ImportContradictions, LargeIntegersThatAreComputedAreWarnedOf) {
  const std::string told = ": results may be beyond 2^24, where f32";
  const auto expect_told = [&](const std::string& said, const std::string& node) {
    EXPECT_NE(said.find("node " + node + told), std::string::npos) << said;
  };
  expect_told(said_of_integers("Mul(a, k)", "values(1, 6000000)"), "'b' (Mul)");
  expect_told(said_of_integers("Add(a, k)", "values(1, 16777216)"), "'b' (Add)");
  expect_told(said_of_integers("ReduceSum(a)", "values(16000000, 16000000)"), "'b' (ReduceSum)");
  EXPECT_EQ(said_of_integers("Mul(a, k)", "values(1, 1000)"), "");
  EXPECT_EQ(said_of_integers("Add(a, k)", "values(1, 1000)"), "");
  EXPECT_EQ(said_of_integers("ReduceSum(a)", "values(1, 1000)"), "");
  EXPECT_EQ(said_of_integers("ArgMax<axis = 0>(a)", "values(1, 16777216)"), "");
}

TEST(ImportContradictions, UnsignedResultsBelowZeroAreWarnedOf) {
  const auto said = [&](const std::string& x) {
    return warnings_of(
        "(float[1] x) => (float[1] y) <uint32[1] k = {5}> { a = Cast<to = 12>(x)\n"
        "b = Sub(a, k)\n y = Cast<to = 1>(b) }",
        {{"x", x}});
  };
  EXPECT_NE(said("values(3)").find("node 'b' (Sub): results may be below 0"), std::string::npos);
  EXPECT_EQ(said("values(7)"), "");
}

TEST(ImportContradictions, WholeNumbersThatBecomeDoublesAreTold) {
  const auto said = [&](const std::string& number) {
    return warnings_of("(double[1] x) => (double[1] y) <int64[1] k = {" + number +
                           "}> { d = Cast<to = 11>(k)\n y = Mul(x, d) }",
                       {{"x", "values(1)"}});
  };
  EXPECT_NE(said("16777217").find("note: node 'Cast(d)' (Cast): whole numbers beyond 2^24"),
            std::string::npos);
  EXPECT_EQ(said("16777216"), "");
}

/// Each makes a constant of some MiB out of little data.
TEST(ImportContradictions, LimitsHoldForConstantsThatAreMade) {
  const std::string expand = "<int64[2] s = {1024, 1024}> { e = Expand(x, s)\n ";
  const Binds one = {{"x", "values(1)"}};
  const StopScope limit("nothing is made", 0, int64_t{1} << 20);
  EXPECT_THROW(imported_with(model_at(18,
                                      "(float[2048] x) => (float[2048] y) <int64 a = {0}> "
                                      "{ y = CumSum(x, a) }"),
                             {{"x", "uniform(density=1,seed=1)"}}),
               Stopped);
  EXPECT_THROW(
      imported_with(model_at(18, "(float[1] x) => (float[n,n] y) " + expand + "y = Trilu(e) }"),
                    one),
      Stopped);
  EXPECT_THROW(imported_with(model_at(18, "(float[1] x) => (float[n,n] y) " + expand +
                                              "i = EyeLike(e)\n y = Mul(i, e) }"),
                             one),
               Stopped);
  EXPECT_THROW(
      imported_with(model_at(18,
                             "(float[1] x) => (float[n] y) <int64 a = {0}, int64 b = {1000000}, "
                             "int64 c = {1}> { r = Range(a, b, c)\n f = Cast<to = 1>(r)\n "
                             "y = Mul(f, x) }"),
                    one),
      Stopped);
}

TEST(ImportContradictions, CountsOfNGramsDivideThePool) {
  for (const char* const counts : {"0, 1000", "0, 1, 1000", "0, 2, 1", "-1", "1, 0", "0, 0, 0, 5",
                                   "0, -9223372036854775807", "9223372036854775807, 0"}) {
    expect_refused(18,
                   "(float[1] x) => (float[1] y) <int64[2] c = {1, 2}> { t = TfIdfVectorizer<"
                   "mode = \"TF\", min_gram_length = 1, max_gram_length = 1, max_skip_count = 0, "
                   "ngram_counts = [" +
                       std::string(counts) +
                       "], ngram_indexes = [0, 1], pool_int64s = [1, 2]>(c)\n y = Mul(t, x) }",
                   {{"x", "values(1)"}}, "attribute 'ngram_counts' does not divide the pool");
  }
}

TEST(ImportContradictions, WhatIsBoundIsNamed) {
  const std::string graph = "(float[2] x) => (float[2] y) { y = Relu(x) }";
  expect_refused(18, graph, {{"x", "values(1, 2, 3)"}}, "--bind x: ");
  expect_refused(18, graph, {{"x", "uniform(density=2,seed=1)"}}, "--bind x: ");
  expect_refused(18, "(uint32[2] u) => (float[2] y) { y = Cast<to = 1>(u) }",
                 {{"u", "values(-1, 2)"}}, "--bind u: the model expects integers (u32)");
}

}  // namespace
}  // namespace fuseflow
