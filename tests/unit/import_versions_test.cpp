// Nodes are read by the definition of their opset, or refused: attributes and inputs that it does
// not have, broadcasting of old opsets, functions of the model, branches, casts.
#include <gtest/gtest.h>

#include <limits>

#include "import_values.h"
#include "ir/print.h"

namespace fuseflow {
namespace {

TEST(ImportSmall, DeterminantsAreWrittenOut) {
  EXPECT_EQ(values_at(22, "(float[2,2,2] x) => (float[2] y) { y = Det(x) }",
                      {{"x", "values(1, 2, 3, 4, 2, 0, 1, 3)"}}),
            (Floats{-2, 6}));
  EXPECT_EQ(values_at(11, "(float[4,4] x) => (float y) { y = Det(x) }",
                      {{"x", "values(0, 2, 0, 1, 1, 0, 0, 2, 0, 0, 3, 0, 2, 1, 1, 1)"}}),
            Floats{21});
  expect_refused(22, "(float[5,5] x) => (float y) { y = Det(x) }",
                 {{"x", "uniform(density=1,seed=1)"}}, "matrices of 5 rows, expected 1 to 4");
}

/// As in training: by mean and variance of the batch.
TEST(ImportSmall, BatchNormalizationOfABatch) {
  const std::string start = "(float[2,2] x, float[2] s, float[2] b, float[2] m, float[2] v) => ";
  const std::string node =
      "BatchNormalization<epsilon = 0.0, momentum = 0.5, training_mode = 1>(x, s, b, m, v) }";
  const Binds binds = {{"x", "values(1, 10, 3, 20)"},
                       {"s", "values(1, 2)"},
                       {"b", "values(0, 1)"},
                       {"m", "values(4, 5)"},
                       {"v", "values(3, 1)"}};
  EXPECT_EQ(values_at(15, start + "(float[2,2] y) { y, rm, rv = " + node, binds),
            (Floats{-1, -1, 1, 3}));
  EXPECT_EQ(values_at(15, start + "(float[2] y) { z, y, rv = " + node, binds), (Floats{3, 10}));
  EXPECT_EQ(values_at(15, start + "(float[2] y) { z, rm, y = " + node, binds), (Floats{2, 13}));
}

const Tensor& result_tensor(const Program& program) {
  return program.tensors.at(static_cast<size_t>(find_tensor(program, "y")));
}

const Binds kThree = {{"x", "values(-2, 0.5, 3)"}};

TEST(ImportAttributes, ThatTheOpsetDoesNotHaveAreRefused) {
  expect_refused(18, "(float[3] x) => (float[3] y) { y = LeakyRelu<aplha = 0.5>(x) }", kThree,
                 "has no attribute 'aplha' in opset 18, expected alpha; did you mean 'alpha'?");
  expect_refused(18, "(float[1,3] x) => (float[3] y) { y = Squeeze<axes = [0]>(x) }",
                 {{"x", "values(1, 2, 3)"}},
                 "has no attribute 'axes' in opset 18 (it has in opsets 1 to 12), expected none");
  expect_refused(13, "(float[3] x) => (float[3] y) { y = Gelu(x) }", kThree,
                 "is an operator since opset 20, but the node was written for opset 13");
  expect_refused(18, "(float[3] x) => (float[6] y) { y = Concat(x, x) }", kThree,
                 "attribute 'axis' is missing");
  expect_refused(18, "(float[3] x) => (float[3] y) { y = LeakyRelu<alpha = 1>(x) }", kThree,
                 "attribute 'alpha' is an integer, expected a number with a fraction");
}

TEST(ImportAttributes, NewOpsetsAreReadWithoutAWarning) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(values_at(28, "(float[3] x) => (float[3] y) { y = Relu(x) }", kThree),
            (Floats{0, 0.5, 3}));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ImportPad, AxesOfOpset18) {
  const Binds x = {{"x", "values(1, 2, 3, 4)"}};
  const std::string head = "(float[2,2] x) => (float[N,M] y) <int64[2] p = {1, 0}, float v = {9}, ";
  const std::string node = "> { y = Pad(x, p, v, a) }";
  EXPECT_EQ(values_at(18, head + "int64[1] a = {0}" + node, x), (Floats{9, 9, 1, 2, 3, 4}));
  EXPECT_EQ(values_at(18, head + "int64[1] a = {-1}" + node, x), (Floats{9, 1, 2, 9, 3, 4}));
  expect_refused(18, head + "int64[2] a = {0, 1}" + node, x, "2 pads, expected two for each of 2");
  expect_refused(13, head + "int64[1] a = {0}" + node, x, "has 4 inputs, expected 2 to 3");
}

TEST(ImportPad, AroundTheOtherEnd) {
  EXPECT_EQ(values_at(19,
                      "(float[3] x) => (float[N] y) <int64[2] p = {4, 1}> "
                      "{ y = Pad<mode = \"wrap\">(x, p) }",
                      {{"x", "values(1, 2, 3)"}}),
            (Floats{3, 1, 2, 3, 1, 2, 3, 1}));
}

TEST(ImportOldOpsets, BroadcastWhereTheAttributeSaysSo) {
  const Binds x = {{"x", "values(1, 2, 3, 4)"}};
  const std::string head = "(float[2,2] x) => (float[2,2] y) <float[2] b = {10, 20}> ";
  EXPECT_EQ(values_at(6, head + "{ y = Add<broadcast = 1, axis = 0>(x, b) }", x),
            (Floats{11, 12, 23, 24}));
  EXPECT_EQ(values_at(6, head + "{ y = Add<broadcast = 1>(x, b) }", x), (Floats{11, 22, 13, 24}));
  EXPECT_EQ(values_at(7, head + "{ y = Add(x, b) }", x), (Floats{11, 22, 13, 24}));
  expect_refused(6, head + "{ y = Sub(x, b) }", x, "expected one shape in opset 6");
  expect_refused(6, head + "{ y = Max(x, b) }", x, "expected one shape in opset 6");
  EXPECT_EQ(values_at(6,
                      "(float[1,2,2] x) => (float[1,2,2] y) <float[2] s = {0.5, 10}> "
                      "{ y = PRelu(x, s) }",
                      {{"x", "values(-1, 2, -3, -4)"}}),
            (Floats{-0.5, 2, -30, -40}));
}

TEST(ImportOldOpsets, DefaultsOfTheirDefinitions) {
  const Binds x = {{"x", "values(1, 2)"}};
  EXPECT_EQ(values_at(1, "(float[2,1] x) => (float[2,2] y) { y = Concat(x, x) }", x),
            (Floats{1, 1, 2, 2}));
  const std::string norm =
      "(float[1,2] x) => (float[1,2] y) <float[2] o = {1, 1}, float[2] z = {0, 0}> "
      "{ y = BatchNormalization<";
  expect_refused(6, norm + "epsilon = 0.0>(x, o, z, z, o) }", x, "training mode");
  EXPECT_EQ(values_at(6, norm + "epsilon = 0.0, is_test = 1>(x, o, z, z, o) }", x), (Floats{1, 2}));
  expect_refused(8, norm + "spatial = 0>(x, o, z, z, o) }", x, "spatial = 0");
  expect_refused(6, "(float[2] x) => (float[2] y) { y = Dropout(x) }", x, "it drops at random");
}

/// What a number of an operator meant, or where it had none, in the node's opset.
TEST(ImportOldOpsets, MeaningsOfTheirDefinitions) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  constexpr float kMost = std::numeric_limits<float>::max();
  const Binds thousand = {{"x", "values(1000)"}};
  EXPECT_EQ(values_at(1, "(float[1] x) => (float[1] y) { y = Selu(x) }", thousand),
            Floats{1000 * 1.0507F});
  EXPECT_EQ(values_at(6, "(float[1] x) => (float[1] y) { y = Selu(x) }", thousand),
            Floats{1000 * 1.050701F});
  const Binds ends = {{"x", "values(-inf, inf, 7)"}};
  const std::string clip = "(float[3] x) => (float[3] y) { y = Clip(x) }";
  EXPECT_EQ(values_at(6, clip, ends), (Floats{-kMost, kMost, 7}));
  EXPECT_EQ(values_at(11, clip, ends), (Floats{-kInfinite, kInfinite, 7}));
  const std::string hot =
      "(float[2] x) => (float[2,3] y) <int64 d = {3}, float[2] v = {0, 1}> { y = OneHot(x, d, v) }";
  EXPECT_EQ(values_at(9, hot, {{"x", "values(-1, 1.5)"}}), (Floats{0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(values_at(11, hot, {{"x", "values(-1, 1.5)"}}), (Floats{0, 0, 1, 0, 1, 0}));
  const std::string spread =
      "(float[1,1,2] x) => (float[1,1,2] y) <float[1,1,2] w = {1, 10}> { y = "
      "ConvTranspose<output_shape = [2]>(x, w) }";  // of 1, 12, 20
  EXPECT_EQ(values_at(1, spread, {{"x", "values(1, 2)"}}), (Floats{1, 12}));
  EXPECT_EQ(values_at(11, spread, {{"x", "values(1, 2)"}}), (Floats{12, 20}));
  const std::string groups =
      "(float[1,4,1] x) => (float[1,4,1] y) <float[2] s = {1, 2}, float[2] b = {0, 1}> { y = "
      "GroupNormalization<num_groups = 2, epsilon = 0.0>(x, s, b) }";
  EXPECT_EQ(values_at(18, groups, {{"x", "values(1, 3, 5, 9)"}}), (Floats{-1, 1, -1, 3}));
}

TEST(ImportFunctions, DefaultsAndOverloadsAndResultsThatAreInputs) {
  const std::string head = "<ir_version: 10, opset_import: [\"\" : 18, \"my\" : 1]> g ";
  const std::string leaky =
      "<domain: \"my\", opset_import: [\"\" : 18]> f <alpha : float = 0.5> (u) => (v) "
      "{ v = LeakyRelu<alpha : float = @alpha>(u) }";
  const auto run = [&](const std::string& text) {
    return result_of(imported_with(onnx_of(text), kThree));
  };
  const std::string graph = "(float[3] x) => (float[3] y) ";
  EXPECT_EQ(run(head + graph + "{ y = my.f(x) }" + leaky), (Floats{-1, 0.5, 3}));
  EXPECT_EQ(run(head + graph + "{ y = my.f<alpha = 2.0>(x) }" + leaky), (Floats{-4, 0.5, 3}));
  const std::string told =
      fault_of(onnx_of(head + graph + "{ y = my.f<alhpa = 2.0>(x) }" + leaky), kThree);
  EXPECT_NE(told.find("has no attribute 'alhpa'; did you mean 'alpha'?"), std::string::npos)
      << told;
  const std::string two =
      "<domain: \"my\", overload: \"a\", opset_import: [\"\" : 18]> f (u) => (v) { v = Neg(u) } "
      "<domain: \"my\", overload: \"b\", opset_import: [\"\" : 18]> f (u) => (v) { v = Abs(u) }";
  EXPECT_EQ(run(head + graph + "{ y = my.f:a(x) }" + two), (Floats{2, -0.5, -3}));
  EXPECT_EQ(run(head + graph + "{ y = my.f:b(x) }" + two), (Floats{2, 0.5, 3}));
  const std::string missing = fault_of(onnx_of(head + graph + "{ y = my.f:c(x) }" + two), kThree);
  EXPECT_NE(missing.find("overload 'c', which the model does not define"), std::string::npos);
  const std::string through =
      "<domain: \"my\", opset_import: [\"\" : 18]> f (u) => (u, v) { v = Neg(u) }";
  EXPECT_EQ(run(head + graph + "{ a, b = my.f(x) y = Add(a, a) }" + through), (Floats{-4, 1, 6}));
}

TEST(ImportFunctions, TowersEnd) {
  std::string text =
      "<ir_version: 10, opset_import: [\"\" : 18, \"my\" : 1]> g (float[3] x) => (float[3] y) "
      "{ y = my.f19(x) }";
  for (int level = 1; level <= 19; ++level) {
    const std::string below = level == 1 ? "Relu" : "my.f" + std::to_string(level - 1);
    text += "<domain: \"my\", opset_import: [\"\" : 18]> f" + std::to_string(level) +
            " (u) => (w) { v = " + below + "(u) w = " + below + "(v) }";
  }
  const std::string told = fault_of(onnx_of(text), kThree);
  EXPECT_NE(told.find("the model has more than 262144 nodes"), std::string::npos) << told;
}

TEST(ImportIf, TheBranchOfAConstantCondition) {
  const std::string branches =
      "<then_branch = t () => (float[3] a) { a = Relu(x) }, "
      "else_branch = e () => (float[3] a) <float w = {2}> { b = Mul(x, w) a = Neg(b) }>";
  const std::string constant = "(float[3] x) => (float[3] y) <bool c = {";
  EXPECT_EQ(values_at(18, constant + "1}> { y = If" + branches + "(c) }", kThree),
            (Floats{0, 0.5, 3}));
  EXPECT_EQ(values_at(18, constant + "0}> { y = If" + branches + "(c) }", kThree),
            (Floats{4, -1, -6}));
  // The condition is computed from a shape, with nodes behind it; or it is a bound boolean.
  EXPECT_EQ(values_at(18,
                      "(float[3] x) => (float[3] y) <int64 n = {3}> { s = Size(x) c = Equal(s, n) "
                      "z = If" +
                          branches + "(c) y = Add(z, z) }",
                      kThree),
            (Floats{0, 1, 6}));
  const std::string bound = "(float[3] x, bool c) => (float[3] y) { y = If" + branches + "(c) }";
  EXPECT_EQ(values_at(18, bound, {{"x", "values(-2, 0.5, 3)"}, {"c", "values(0)"}}),
            (Floats{4, -1, -6}));
  // One of shape [1].
  const std::string listed =
      "(float[3] x, bool[1] c) => (float[3] y) { y = If" + branches + "(c) }";
  EXPECT_EQ(values_at(18, listed, {{"x", "values(-2, 0.5, 3)"}, {"c", "values(1)"}}),
            (Floats{0, 0.5, 3}));
  expect_refused(18,
                 "(float[3] x) => (float[3] y) { m = ReduceSum(x) k = Cast<to = 9>(m) "
                 "c = Squeeze(k) y = If" +
                     branches + "(c) }",
                 kThree,
                 "the branch depends on the condition (input 0), which the program computes");
}

TEST(ImportEinsum, ALetterTwiceInTheResultIsRefusedByItsNode) {
  expect_refused(18, "(float[3, 3] x) => (float[3, 3] y) { y = Einsum<equation = \"ij->ii\">(x) }",
                 {{"x", "dense(seed=1)"}}, "the result of the equation has a letter twice");
}

TEST(ImportHardmax, OfNothingIsNothing) {
  for (const int opset : {6, 13}) {
    const std::string graph =
        "(float[3] x) => (float[0,4] y) <int64[2] none = {0, 4}, float[0] e = {}> "
        "{ r = Reshape(e, none) y = Hardmax<axis = 1>(r) }";
    EXPECT_EQ(values_at(opset, graph, kThree), Floats{}) << opset;
  }
}

/// Nodes that no output depends on may be what nothing reads; in a branch, too.
TEST(ImportDeadNodes, AreLeftOut) {
  const std::string dead = "u = DeformConv(x, x, x) v = Add(u, x) w = my.Op(v) ";
  EXPECT_EQ(values_at(18, "(float[3] x) => (float[3] y) { " + dead + "y = Relu(x) }", kThree),
            (Floats{0, 0.5, 3}));
  EXPECT_EQ(
      values_at(18,
                "(float[3] x) => (float[3] y) <bool c = {1}> { y = If<then_branch = t () => "
                "(float[3] a) { " +
                    dead + "a = Relu(x) }, else_branch = e () => (float[3] b) { b = Neg(x) }>(c) }",
                kThree),
      (Floats{0, 0.5, 3}));
  expect_refused(18, "(float[3] x) => (float[3] y) { u = DeformConv(x, x, x) y = Add(u, x) }",
                 kThree, "DeformConv");
  expect_refused(18, "(float[3] x) => (float[3] y) { u = Neg(nothing) y = Relu(x) }", kThree,
                 "which nothing defines");
}

/// ONNX has a default of the opset only for models of its first two IR versions.
TEST(ImportOpset, HasToBeSaid) {
  ImportOptions options;
  options.bindings["x"] = parse_binding("values(1, -2)");
  onnx::ModelProto model = model_of("(float[2] x) => (float[2] y) { y = Relu(x) }");
  model.clear_opset_import();
  try {
    import_by_file(model, options);
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("IR version 8 requires"), std::string::npos)
        << error.what();
  }
  model.set_ir_version(2);
  EXPECT_EQ(result_of(import_by_file(model, options)), (Floats{1, 0}));
}

TEST(ImportSplit, SaysTheExtents) {
  expect_refused(
      18, "(float[3] x) => (float[1] y) <int64[2] parts = {1, 1}> { y, z = Split(x, parts) }",
      kThree, "parts of extents [1,1], expected extents of 0 or more that add up to 3");
}

TEST(ImportCast, IntegersWrap) {
  const Binds whole = {{"x", "values(300, -129, 5, 65541, -1)"}};
  const auto cast = [&](int to) {
    return values_at(18,
                     "(int64[5] x) => (float[5] y) { i = Cast<to = " + std::to_string(to) +
                         ">(x) y = Cast<to = 1>(i) }",
                     whole);
  };
  EXPECT_EQ(cast(3), (Floats{44, 127, 5, 5, -1}));        // int8
  EXPECT_EQ(cast(2), (Floats{44, 127, 5, 5, 255}));       // uint8
  EXPECT_EQ(cast(5), (Floats{300, -129, 5, 5, -1}));      // int16
  EXPECT_EQ(cast(4), (Floats{300, 65407, 5, 5, 65535}));  // uint16
  EXPECT_EQ(cast(6), (Floats{300, -129, 5, 65541, -1}));  // int32
  const Program bytes =
      imported_with(model_at(18, "(int8[3] x) => (uint8[3] y) { y = Cast<to = 2>(x) }"),
                    {{"x", "values(-1, -128, 7)"}});
  EXPECT_EQ(result_of(bytes), (Floats{255, 128, 7}));  // computed
  EXPECT_EQ(result_tensor(bytes).type, ElementType::u8);
}

TEST(ImportCast, SixteenBitsRoundAndAreDeclared) {
  const Binds x = {{"x", "values(0.1, 70000, 1)"}};
  const std::string there_and_back = "(float[3] x) => (float[3] y) { h = Cast<to = 10>(x) ";
  const Floats rounded = values_at(18, there_and_back + "y = Cast<to = 1>(h) }", x);
  EXPECT_EQ(rounded, (Floats{0.0999755859375F, std::numeric_limits<float>::infinity(), 1}));
  const Program half = imported_with(
      model_at(18, "(float[3] x) => (float16[3] y) { s = Softmax(x) y = Cast<to = 10>(s) }"), x);
  EXPECT_EQ(result_tensor(half).type, ElementType::f16);
  EXPECT_EQ(half.regions.size(), 1U);  // the Cast belongs to the kernel whose result it rounds
}

/// The operator rounds: nothing depends on whether the tensor of 16 bits is stored.
TEST(ImportCast, SixteenBitsRoundInsideOfAKernel) {
  const auto printed = [](const std::string& nodes, int type) {
    const std::string graph = "(float[3] x, float16[3] z) => (float[3] y) { ";
    const Binds x = {{"x", "values(0.1, 70000, 1)"}, {"z", "values(1, 2, 3)"}};
    return print_program(imported_with(model_at(18, graph + nodes + " }"), x))
               .find(type == 10 ? " = f16(%" : " = bf16(%") != std::string::npos;
  };
  EXPECT_TRUE(printed("h = Cast<to = 10>(x) g = Cast<to = 1>(h) y = Sub(x, g)", 10));
  EXPECT_TRUE(printed("h = Cast<to = 16>(x) g = Cast<to = 1>(h) y = Sub(x, g)", 16));
  EXPECT_TRUE(printed("h = CastLike(x, z) g = Cast<to = 1>(h) y = Sub(x, g)", 10));
  EXPECT_TRUE(printed("h = Cast<to = 16>(z) y = Cast<to = 1>(h)", 16));
  EXPECT_FALSE(printed("h = Cast<to = 1>(z) y = Sub(x, h)", 10));  // f32 holds every f16
}

TEST(ImportCast, EightBitsRoundInsideOfAKernel) {
  for (const char* type : {"17", "19"}) {
    const std::string nodes = std::string("h = Cast<to = ") + type + ">(x) g = Cast<to = 1>(h) ";
    const std::string graph = "(float[3] x) => (float[3] y) { " + nodes + "y = Sub(x, g) }";
    const Binds x = {{"x", "values(0.1, 70000, 1)"}};
    EXPECT_NE(print_program(imported_with(model_at(19, graph), x)).find("round("),
              std::string::npos);
  }
}

/// Integers that are data, not constants (those are computed in integers anyway).
TEST(ImportIntegers, ArithmeticOfFewBitsWraps) {
  const Binds x = {{"x", "values(100, -128, 7, -5)"}};
  const auto run = [&](int type, const std::string& nodes) {
    return values_at(18,
                     "(float[4] x) => (float[4] y) { i = Cast<to = " + std::to_string(type) +
                         ">(x) " + nodes + " y = Cast<to = 1>(r) }",
                     x);
  };
  EXPECT_EQ(run(3, "r = Add(i, i)"), (Floats{-56, 0, 14, -10}));
  EXPECT_EQ(run(3, "r = Mul(i, i)"), (Floats{16, 0, 49, 25}));
  EXPECT_EQ(run(3, "r = Neg(i)"), (Floats{-100, -128, -7, 5}));
  EXPECT_EQ(run(3, "r = Abs(i)"), (Floats{100, -128, 7, 5}));
  EXPECT_EQ(run(3, "m = Neg(i) d = Sign(m) r = Div(i, d)"), (Floats{-100, -128, -7, -5}));
  EXPECT_EQ(run(3, "s = Add(i, i) r = Max(s, i)"), (Floats{100, 0, 14, -5}));
  EXPECT_EQ(values_at(18,
                      "(float[4] x) => (float[4] y) { i = Cast<to = 5>(x) r = Add(i, i) "
                      "y = Cast<to = 1>(r) }",
                      {{"x", "values(20000, -32768, 7, -5)"}}),
            (Floats{-25536, 0, 14, -10}));
  const Program in_range =
      imported_with(model_at(18,
                             "(float[4] x) => (float[4] y) { i = Cast<to = 3>(x) r = Max(i, i) "
                             "y = Cast<to = 1>(r) }"),
                    x);
  EXPECT_EQ(print_program(in_range).find("256"), std::string::npos);  // nothing to wrap
}

/// Quotients and powers are cut towards zero, also of constants that do not fold, since what is
/// dequantised stays as it is stored.
TEST(ImportIntegers, WhatIsNotWholeIsCut) {
  EXPECT_EQ(values_at(18,
                      "(float[2] x) => (float[2] y) <int8[2] w = {-7, 5}, float s = {0.5}, "
                      "int8 two = {2}> { d = DequantizeLinear(w, s) q = Div(w, two) "
                      "f = Cast<to = 1>(q) e = Add(d, f) y = Add(e, x) }",
                      {{"x", "values(0, 0)"}}),
            (Floats{-6.5F, 4.5F}));
  const auto power = [](const std::string& exponent) {
    return values_at(18,
                     "(float[3] x) => (float[3] y) <float e = {" + exponent +
                         "}> { i = Cast<to = 6>(x) p = Pow(i, e) y = Cast<to = 1>(p) }",
                     {{"x", "values(2, 3, 4.5)"}});
  };
  EXPECT_EQ(power("0.5"), (Floats{1, 1, 2}));
  EXPECT_EQ(power("-1"), (Floats{0, 0, 0}));
  EXPECT_EQ(power("2"), (Floats{4, 9, 16}));
}

TEST(ImportIntegers, UnsignedArithmeticOfFewBitsWraps) {
  const Binds x = {{"x", "values(3, 200, 5)"}, {"z", "values(5, 100, 5)"}};
  const auto run = [&](int type, const std::string& node) {
    const std::string to = "Cast<to = " + std::to_string(type) + ">";
    return values_at(18,
                     "(float[3] x, float[3] z) => (float[3] y) { i = " + to + "(x) j = " + to +
                         "(z) r = " + node + " y = Cast<to = 1>(r) }",
                     x);
  };
  EXPECT_EQ(run(2, "Sub(i, j)"), (Floats{254, 100, 0}));
  EXPECT_EQ(run(2, "Add(i, j)"), (Floats{8, 44, 10}));
  EXPECT_EQ(run(4, "Sub(i, j)"), (Floats{65534, 100, 0}));
  EXPECT_EQ(run(4, "Mod(i, j)"), (Floats{3, 0, 0}));
}

TEST(ImportIntegers, WhatF32DoesNotHoldIsRefused) {
  expect_refused(18,
                 "(float[3] x) => (float[3] y) { i = Cast<to = 5>(x) r = Mul(i, i) "
                 "y = Cast<to = 1>(r) }",
                 kThree, "results of type i16 may be beyond 2^24 before they wrap");
}

TEST(ImportIndices, TuplesGatherBlocks) {
  const Binds x = {{"x", "values(1, 2, 3, 4, 5, 6, 7, 8)"}};
  EXPECT_EQ(values_at(18,
                      "(float[2,2,2] x) => (float[2,2] y) <int64[2,2] i = {1, 0, 0, -1}> "
                      "{ y = GatherND(x, i) }",
                      x),
            (Floats{5, 6, 3, 4}));
  EXPECT_EQ(values_at(18,
                      "(float[2,2,2] x) => (float[2,2] y) <int64[2,1] i = {1, 0}> "
                      "{ y = GatherND<batch_dims = 1>(x, i) }",
                      x),
            (Floats{3, 4, 5, 6}));
  EXPECT_EQ(values_at(18,
                      "(float[2,2,2] x, float[2,2] u) => (float[2,2,2] y) "
                      "<int64[2,2] i = {1, 0, 0, 1}> { y = ScatterND(x, i, u) }",
                      {{"x", "values(1, 2, 3, 4, 5, 6, 7, 8)"}, {"u", "values(10, 20, 30, 40)"}}),
            (Floats{1, 2, 30, 40, 10, 20, 7, 8}));
}

TEST(ImportIndices, ScattersWithAReduction) {
  const Binds x = {{"x", "values(1, 2, 3)"}, {"u", "values(5, -1, 2, 4)"}};
  const auto run = [&](const std::string& reduction) {
    return values_at(18,
                     "(float[3] x, float[4] u) => (float[3] y) <int64[4] i = {0, 0, 2, 0}> "
                     "{ y = ScatterElements<axis = 0, reduction = \"" +
                         reduction + "\">(x, i, u) }",
                     x);
  };
  EXPECT_EQ(run("max"), (Floats{5, 2, 3}));
  EXPECT_EQ(run("min"), (Floats{-1, 2, 2}));
  EXPECT_EQ(run("mul"), (Floats{-20, 2, 6}));
  EXPECT_EQ(run("add"), (Floats{9, 2, 5}));
}

/// PyTorch's tracing exporter writes include_self=False as a reset by the least update.
TEST(ImportIndices, ExtremesBelowOpset18AreReadWithAWarning) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(values_at(17,
                      "(float[3] x, float[4] u) => (float[3] y) <int64[4] i = {0, 0, 2, 0}, "
                      "int64[1] four = {4}> { m = ReduceMin<keepdims = 0>(u) r = Expand(m, four) "
                      "a = ScatterElements<axis = 0, reduction = \"max\">(x, i, r) "
                      "y = ScatterElements<axis = 0, reduction = \"max\">(a, i, u) }",
                      {{"x", "values(1, 2, 3)"}, {"u", "values(-5, -1, -2, -4)"}}),
            (Floats{-1, 2, -2}));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("are not defined in opset 17"),
            std::string::npos);
}

TEST(ImportOutputs, OneTwiceIsRefused) {
  const std::string told =
      fault_of(model_at(18, "(float[3] x) => (float[3] y, float[3] y) { y = Relu(x) }"), kThree);
  EXPECT_NE(told.find("output 'y' is given twice"), std::string::npos) << told;
}

TEST(ImportSparse, OneIndexTwiceIsRefused) {
  auto model = model_at(18, "(float[2,2] x) => (float[2,2] y) { y = Add(x, w) }");
  auto* w = model.mutable_graph()->add_sparse_initializer();
  w->mutable_values()->set_name("w");
  w->mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
  w->mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  for (auto* t : {w->mutable_values(), w->mutable_indices()}) t->add_dims(2);
  for (const int64_t at : {1, 1}) w->mutable_indices()->add_int64_data(at);
  for (const float v : {5.0F, 7.0F}) w->mutable_values()->add_float_data(v);
  for (const int64_t e : {2, 2}) w->add_dims(e);
  const std::string told = fault_of(model, {{"x", "values(1, 2, 3, 4)"}});
  EXPECT_NE(told.find("several values for one entry"), std::string::npos) << told;
}

}  // namespace
}  // namespace fuseflow
