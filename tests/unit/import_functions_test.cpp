// Functions that ONNX and com.microsoft define by other operators: attention, normalisations,
// losses, activations.
#include <cmath>

#include "import_values.h"

namespace fuseflow {
namespace {

// Queries of 0 attend all open keys alike: the result is the mean of their values.
const Binds kEven = {{"q", "values(0, 0, 0)"}, {"k", "values(1, 2, 3)"}, {"v", "values(1, 3, 8)"}};
const std::string kQkv = "(float[1,1,3,1] q, float[1,1,3,1] k, float[1,1,3,1] v";

TEST(ImportAttention, MeansOfOpenKeys) {
  expect_values(values_at(23, kQkv + ") => (float[1,1,3,1] y) { y = Attention(q, k, v) }", kEven),
                {4, 4, 4});
  expect_values(values_at(23,
                          kQkv + ") => (float[1,1,3,1] y) { y = Attention<is_causal = 1>(q, k, v)"
                                 " }",
                          kEven),
                {1, 2, 4});
  expect_values(values_at(25,
                          kQkv + ") => (float[1,1,3,1] y) { y = Attention<is_causal = 1, "
                                 "left_window_size = 1>(q, k, v) }",
                          kEven),
                {1, 2, 5.5});
}

TEST(ImportAttention, RowsThatNothingIsOpenInAreZero) {
  Binds binds = kEven;
  binds["m"] = "values(1, 0, 1, 0, 0, 0, 0, 1, 0)";
  expect_values(values_at(23,
                          kQkv + ", bool[3,3] m) => (float[1,1,3,1] y) { y = Attention(q, k, v, m)"
                                 " }",
                          binds),
                {4.5, 0, 3});
  binds["m"] = "values(0, 0, 0, 0, -inf, 0, -inf, -inf, -inf)";
  expect_values(values_at(23,
                          kQkv + ", float[3,3] m) => (float[1,1,3,1] y) { y = Attention(q, k, v, "
                                 "m) }",
                          binds),
                {4, 4.5, 0});
}

/// A constant mask of scores [2, 2, 1, 2]; the mean of the values, or 0 in rows that it closes.
TEST(ImportAttention, AMaskMayCloseARowOfOneBatchOrHead) {
  const auto under = [](const std::string& mask) {
    return values_at(23,
                     "(float[2,2,1,1] q, float[2,2,2,1] k, float[2,2,2,1] v) => (float[2,2,1,1] y) "
                     "<" +
                         mask + "> { y = Attention(q, k, v, m) }",
                     {{"q", "values(0, 0, 0, 0)"},
                      {"k", "values(1, 2, 3, 4, 5, 6, 7, 8)"},
                      {"v", "values(1, 3, 3, 5, 5, 7, 7, 9)"}});
  };
  expect_values(under("bool[2,1,1,2] m = {1, 1, 0, 0}"), {2, 4, 0, 0});
  expect_values(under("bool[2,1,1,2] m = {0, 0, 1, 1}"), {0, 0, 6, 8});
  expect_values(under("bool[1,2,1,2] m = {1, 1, 0, 0}"), {2, 0, 6, 0});
  expect_values(under("float[2,1,1,2] m = {0, 0, -inf, -inf}"), {2, 4, 0, 0});
  expect_values(under("bool[2,1,1,2] m = {1, 1, 0, 1}"), {2, 4, 7, 9});
}

TEST(ImportAttention, EarlierKeysComeFirst) {
  Binds binds = kEven;
  binds["pk"] = "values(5)";
  binds["pv"] = "values(9)";
  const std::string graph = kQkv +
                            ", float[1,1,1,1] pk, float[1,1,1,1] pv) => (float[1,1,3,1] y, "
                            "float[1,1,4,1] keys) { y, keys, vals = Attention<is_causal = 1>(q, k, "
                            "v, \"\", pk, pv) }";
  expect_values(values_at(23, graph, binds), {5, 13.0F / 3, 5.25});
}

TEST(ImportAttention, ScoresThatAreNotEven) {
  // One query of 2, keys 0 and log 3 (scale 1/2): weights 1/4 and 3/4.
  const std::string graph =
      "(float[1,1,1] q, float[1,2,1] k, float[1,2,2] v) => (float[1,1,2] y) { y, pk, pv, s = "
      "Attention<q_num_heads = 1, kv_num_heads = 1, scale = 0.5, qk_matmul_output_mode = 3>(q, k, "
      "v) }";
  expect_values(
      values_at(23, graph,
                {{"q", "values(2)"}, {"k", "values(0, 1.0986123)"}, {"v", "values(4, 0, 8, 4)"}}),
      {7, 3});
}

TEST(ImportAttention, HeadsOfQueriesShareKeys) {
  const std::string graph =
      "(float[1,4,1,1] q, float[1,2,2,1] k, float[1,2,2,1] v) => (float[1,4,1,1] y) { y = "
      "Attention(q, k, v) }";
  expect_values(values_at(23, graph,
                          {{"q", "values(0, 0, 0, 0)"},
                           {"k", "values(1, 2, 3, 4)"},
                           {"v", "values(1, 3, 10, 20)"}}),
                {2, 2, 15, 15});
}

TEST(ImportAttention, KeepsTheMaskSparse) {
  const Program program = imported_with(
      model_at(23,
               "(float[1,2,8,4] q, float[1,2,8,4] k, float[1,2,8,4] v) => (float[1,2,8,4] y) { "
               "y = Attention<is_causal = 1>(q, k, v) }"),
      {{"q", "uniform(density=1,seed=1)"},
       {"k", "uniform(density=1,seed=2)"},
       {"v", "uniform(density=1,seed=3)"}});
  bool found = false;
  for (const Tensor& t : program.tensors) {
    if (!t.name.ends_with(".exp")) continue;
    found = true;
    EXPECT_NE(to_string(t.format).find("compressed"), std::string::npos) << to_string(t.format);
  }
  EXPECT_TRUE(found);
}

TEST(ImportAttention, OfMicrosoft) {
  // Two batches, of which the second has one key only.
  const std::string mha =
      "(float[2,1,2] q, float[2,2,2] k, float[2,2,2] v, int32[2] n) => (float[2,1,2] y) { y = "
      "com.microsoft.MultiHeadAttention<num_heads = 2, mask_filter_value = -1000000.0>(q, k, v, "
      "\"\", n) }";
  expect_values(values_at(17, mha,
                          {{"q", "values(0, 0, 0, 0)"},
                           {"k", "values(1, 2, 3, 4, 5, 6, 7, 8)"},
                           {"v", "values(2, 20, 4, 40, 6, 60, 8, 80)"},
                           {"n", "values(2, 1)"}}),
                {3, 30, 6, 60});
  const std::string gqa =
      "(float[1,2,4] q, float[1,2,2] k, float[1,2,2] v, float[1,1,1,2] pk, float[1,1,1,2] pv, "
      "int32[1] n, int32 t) => (float[1,2,4] y) { y, keys, vals = "
      "com.microsoft.GroupQueryAttention<num_heads = 2, kv_num_heads = 1>(q, k, v, pk, pv, n, t) }";
  expect_values(values_at(17, gqa,
                          {{"q", "values(0, 0, 0, 0, 0, 0, 0, 0)"},
                           {"k", "values(1, 1, 2, 2)"},
                           {"v", "values(2, 20, 4, 40)"},
                           {"pk", "values(0, 0)"},
                           {"pv", "values(0, 0)"},
                           {"n", "values(2)"},
                           {"t", "values(3)"}}),
                {1, 10, 1, 10, 2, 20, 2, 20});
}

/// With a filter value of -log 3 a key that is masked weighs a third of one that is there.
TEST(ImportAttention, MaskedKeysOfMicrosoftGetTheFilterValue) {
  const auto attended = [](const std::string& mask, const std::string& values) {
    return values_at(17,
                     "(float[2,1,1] q, float[2,2,1] k, float[2,2,1] v, int32" + mask +
                         " n) => (float[2,1,1] y) { y = com.microsoft.MultiHeadAttention"
                         "<num_heads = 1, mask_filter_value = -1.0986123>(q, k, v, \"\", n) }",
                     {{"q", "values(0, 0)"},
                      {"k", "values(1, 2, 3, 4)"},
                      {"v", "values(2, 4, 6, 8)"},
                      {"n", values}});
  };
  expect_values(attended("[2]", "values(2, 1)"), {3, 6.5});
  expect_values(attended("[2,2]", "values(1, 1, 0, 1)"), {3, 7.5});
}

/// A query and a key (1, 2, 3, 4) after one earlier key: at place 1, or at place 2 where that is
/// given. Of the two pairs (of both halves, or neighbours) the first is turned by 90 degrees at
/// place 1 and by 180 at place 2, the second by 0 and by 90.
TEST(ImportAttention, RotatesQueriesAndKeysOfMicrosoft) {
  const auto rotated = [](const std::string& results, bool placed, const std::string& more = "") {
    return values_at(
        17,
        std::string("(float[1,1,4] q, float[1,1,4] v, float[1,1,1,4] pk, float[1,1,1,4] pv, "
                    "int32[1] n, int32 t, float[3,2] c, float[3,2] s, int64[1,1] at) => (float[") +
            (results == "y" ? "1,1,4] y) { " : "1,1,2,4] y) { ") + results +
            " = com.microsoft.GroupQueryAttention<num_heads = 1, kv_num_heads = 1, " +
            "do_rotary = 1" + more + ">(q, q, v, pk, pv, n, t, c, s" + (placed ? ", at" : "") +
            ") }",
        {{"q", "values(1, 2, 3, 4)"},
         {"v", "values(4, 6, 8, 10)"},
         {"pk", "values(-30, 0, 0, 0)"},
         {"pv", "values(2, 4, 6, 8)"},
         {"n", "values(1)"},
         {"t", "values(2)"},
         {"c", "values(1, 1, 0, 1, -1, 0)"},
         {"s", "values(0, 0, 1, 0, 0, 1)"},
         {"at", "values(2)"}});
  };
  EXPECT_EQ(rotated("z, y", false), (Floats{-30, 0, 0, 0, -3, 2, 1, 4}));
  EXPECT_EQ(rotated("z, y", true), (Floats{-30, 0, 0, 0, -1, -4, -3, 2}));
  EXPECT_EQ(rotated("z, y", false, ", rotary_interleaved = 1"),
            (Floats{-30, 0, 0, 0, -2, 1, 3, 4}));
  // The query (-1, -4, -3, 2), too: both of its scores are 30.
  expect_values(rotated("y", true), {3, 5, 7, 9});
}

/// Two queries and keys (1, 2) after one earlier key, each at a place of its own. A place turns by
/// 90 degrees: at 0 to 3 the pair is (1, 2), (-2, 1), (-1, -2), (2, -1).
TEST(ImportAttention, EachPlaceOfMicrosoftIsTurnedByItsOwn) {
  const auto rotated = [](const std::string& places) {
    return values_at(
        17,
        "(float[2,2,2] q, float[2,2,2] v, float[2,1,1,2] pk, float[2,1,1,2] pv, int32[2] n, "
        "int32 t, float[4,1] c, float[4,1] s, int64[2,2] at) => (float[2,1,3,2] y) { z, y = "
        "com.microsoft.GroupQueryAttention<num_heads = 1, kv_num_heads = 1, do_rotary = 1>"
        "(q, q, v, pk, pv, n, t, c, s" +
            places + ") }",
        {{"q", "values(1, 2, 1, 2, 1, 2, 1, 2)"},
         {"v", "values(0, 0, 0, 0, 0, 0, 0, 0)"},
         {"pk", "values(5, 6, 7, 8)"},
         {"pv", "values(0, 0, 0, 0)"},
         {"n", "values(2, 2)"},
         {"t", "values(3)"},
         {"c", "values(1, 0, -1, 0)"},
         {"s", "values(0, 1, 0, -1)"},
         {"at", "values(0, 3, 2, 1)"}});
  };
  EXPECT_EQ(rotated(""), (Floats{5, 6, -2, 1, -1, -2, 7, 8, -2, 1, -1, -2}));
  EXPECT_EQ(rotated(", at"), (Floats{5, 6, 1, 2, 2, -1, 7, 8, -1, -2, -2, 1}));
}

/// Without earlier keys the first position stands for all: those after it follow, in each batch.
TEST(ImportAttention, APromptOfMicrosoftStartsAtItsFirstPosition) {
  EXPECT_EQ(values_at(17,
                      "(float[2,2,2] q, float[2,2,2] v, int32[2] n, int32 t, float[4,1] c, "
                      "float[4,1] s, int64[2,2] at) => (float[2,1,2,2] y) { z, y = "
                      "com.microsoft.GroupQueryAttention<num_heads = 1, kv_num_heads = 1, "
                      "do_rotary = 1>(q, q, v, \"\", \"\", n, t, c, s, at) }",
                      {{"q", "values(1, 2, 1, 2, 1, 2, 1, 2)"},
                       {"v", "values(0, 0, 0, 0, 0, 0, 0, 0)"},
                       {"n", "values(1, 1)"},
                       {"t", "values(2)"},
                       {"c", "values(1, 0, -1, 0)"},
                       {"s", "values(0, 1, 0, -1)"},
                       {"at", "values(1, 1, 0, 3)"}}),
            (Floats{-2, 1, -1, -2, -2, 1, -1, -2}));
}

/// The scores that are a result have what is added to them, as onnxruntime gives them.
TEST(ImportAttention, ScoresOfMicrosoftHaveTheirBiasAndMask) {
  EXPECT_EQ(values_at(17,
                      "(float[1,1,1] q, float[1,2,1] k, int32[1,2] n, float[1,1,1,2] b) => "
                      "(float[1,1,1,2] y) { o, pk, pv, y = com.microsoft.MultiHeadAttention"
                      "<num_heads = 1, mask_filter_value = -100.0>(q, k, k, \"\", n, b) }",
                      {{"q", "values(2)"},
                       {"k", "values(3, 4)"},
                       {"n", "values(1, 0)"},
                       {"b", "values(10, 20)"}}),
            (Floats{16, -72}));
}

TEST(ImportAttention, AWindowOfNoPlacesIsRefused) {
  EXPECT_THROW(values_at(17,
                         "(float[1,1,3] x, int32[1] n, int32 t) => (float[1,1,1] y) { y, k, v = "
                         "com.microsoft.GroupQueryAttention<num_heads = 1, kv_num_heads = 1, "
                         "local_window_size = 0>(x, \"\", \"\", \"\", \"\", n, t) }",
                         {{"x", "values(0, 5, 2)"}, {"n", "values(0)"}, {"t", "values(1)"}}),
               Error);
}

TEST(ImportAttention, PackedOfMicrosoft) {
  // Two heads of queries, then one of keys and one of values, of one element.
  const std::string gqa =
      "(float[1,2,4] x, int32[1] n, int32 t) => (float[1,2,2] y) { y, k, v = "
      "com.microsoft.GroupQueryAttention<num_heads = 2, kv_num_heads = 1>(x, \"\", \"\", \"\", "
      "\"\", "
      "n, t) }";
  expect_values(
      values_at(17, gqa,
                {{"x", "values(0, 0, 5, 2, 0, 0, 6, 4)"}, {"n", "values(1)"}, {"t", "values(2)"}}),
      {2, 2, 3, 3});
}

TEST(ImportFunctions, RefuseShapesThatDoNotFit) {
  const std::string qkv = "(float[1,1,3,1] q, float[1,1,3,1] k, float[1,1,3,1] v";
  Binds binds = kEven;
  binds["p"] = "values(1)";
  expect_refused(23,
                 qkv + ", float[1] p) => (float[1,1,3,1] y) { y = Attention(q, k, v, \"\", p, p) }",
                 binds, "input 4 has shape [1]");
  binds.erase("p");
  binds["m"] = "values(1, 1, 1, 1, 1, 1)";
  expect_refused(23, qkv + ", bool[2,3] m) => (float[1,1,3,1] y) { y = Attention(q, k, v, m) }",
                 binds, "a mask of shape [2,3] and type bool for scores of shape [1,1,3,3]");
  expect_refused(17, "(float x, float[2] b) => (float y) { y = com.microsoft.BiasGelu(x, b) }",
                 {{"x", "values(1)"}, {"b", "values(1, 2)"}}, "more dimensions");
}

TEST(ImportRotary, PairsAreRotated) {
  const Binds binds = {{"x", "values(1, 2, 3, 4)"}, {"c", "values(0, 1)"}, {"s", "values(1, 0)"}};
  const std::string graph =
      "(float[1,1,1,4] x, float[1,1,2] c, float[1,1,2] s) => (float[1,1,1,4] y) { y = "
      "RotaryEmbedding";
  EXPECT_EQ(values_at(23, graph + "(x, c, s) }", binds), (Floats{-3, 2, 1, 4}));
  EXPECT_EQ(values_at(23, graph + "<interleaved = 1>(x, c, s) }", binds), (Floats{-2, 1, 3, 4}));
}

/// Of com.microsoft: rows of the caches by place, the first one of a sequence or one for each; two
/// heads in a row.
TEST(ImportRotary, PlacesChooseTheRows) {
  const auto at = [](const std::string& width, const std::string& x, const std::string& places,
                     const std::string& more) {
    const std::string shape = "float[1,2," + width + "] ";
    return values_at(17,
                     "(" + shape + "x, float[3,2] c, float[3,2] s) => (" + shape + "y) <int64" +
                         places + "> { y = com.microsoft.RotaryEmbedding" + more +
                         "(x, at, c, s) }",
                     {{"x", "values(" + x + ")"},
                      {"c", "values(1, 1, 0, 1, -1, 0)"},
                      {"s", "values(0, 0, 1, 0, 0, 1)"}});
  };
  const std::string twice = "1, 2, 3, 4, 1, 2, 3, 4";
  EXPECT_EQ(at("4", twice, "[1] at = {1}", ""), (Floats{-3, 2, 1, 4, -1, -4, -3, 2}));
  EXPECT_EQ(at("4", twice, "[1,2] at = {2, 0}", ""), (Floats{-1, -4, -3, 2, 1, 2, 3, 4}));
  EXPECT_EQ(at("8", twice + ", 0, 0, 0, 0, 1, 2, 3, 4", "[1,2] at = {1, 1}", "<interleaved = 1>"),
            (Floats{-2, 1, 3, 4, -2, 1, 3, 4, 0, 0, 0, 0, -2, 1, 3, 4}));
}

TEST(ImportState, ConvolutionsGoOnFromTheirState) {
  const std::string graph =
      "(float[1,1,3] x, float[1,1,1] p) => (float[1,1,3] y) <float[1,1,2] w = {10, 1}> { y, s = "
      "CausalConvWithState(x, w, \"\", p) }";
  EXPECT_EQ(values_at(27, graph, {{"x", "values(1, 2, 3)"}, {"p", "values(5)"}}),
            (Floats{51, 12, 23}));
}

TEST(ImportState, LinearAttentionAddsUp) {
  // y[t] = q[t] * the sum of k * v so far; with a decay of log 1/2 the sum is halved before.
  const Binds binds = {{"q", "values(1, 1, 2)"},
                       {"k", "values(1, 2, 3)"},
                       {"v", "values(1, 1, 2)"},
                       {"d", "values(-0.6931472, -0.6931472, -0.6931472)"}};
  const std::string inputs = "(float[1,3,1] q, float[1,3,1] k, float[1,3,1] v";
  const std::string attributes = "q_num_heads = 1, kv_num_heads = 1, scale = 1.0>";
  Binds linear = binds;
  linear.erase("d");
  expect_values(values_at(27,
                          inputs +
                              ") => (float[1,3,1] y) { y, s = LinearAttention<update_rule = "
                              "\"linear\", " +
                              attributes + "(q, k, v) }",
                          linear),
                {1, 3, 18});
  expect_values(values_at(27,
                          inputs +
                              ", float[1,3,1] d) => (float[1,3,1] y) { y, s = "
                              "LinearAttention<update_rule = \"gated\", " +
                              attributes + "(q, k, v, \"\", d) }",
                          binds),
                {1, 2.5, 14.5});
}

TEST(ImportNormalisation, ByGroupsSquaresAndNorms) {
  expect_values(values_at(23,
                          "(float[1,2] x) => (float[1,2] y) <float[2] s = {1, 2}> { y = "
                          "RMSNormalization<epsilon = 0.0>(x, s) }",
                          {{"x", "values(1, 7)"}}),
                {0.2F, 2.8F});
  expect_values(values_at(21,
                          "(float[1,4,1] x) => (float[1,4,1] y) <float[4] s = {1, 2, 3, 4}, "
                          "float[4] b = {0, 0, 0, 1}> { y = GroupNormalization<num_groups = 2, "
                          "epsilon = 0.0>(x, s, b) }",
                          {{"x", "values(1, 3, 5, 9)"}}),
                {-1, 2, -3, 5});
  expect_values(
      values_at(17, "(float[2,2] x) => (float[2,2] y) { y = LpNormalization<axis = 1>(x) }",
                {{"x", "values(3, 4, 0, 0)"}}),
      {0.6F, 0.8F, 0, 0});
  expect_values(
      values_at(17,
                "(float[1,2] x, float[1,2] r) => (float[1,2] y) <float[2] s = {1, 1}> { "
                "y, \"\", \"\", sum = com.microsoft.SkipSimplifiedLayerNormalization<epsilon = "
                "0.0>(x, r, s) }",
                {{"x", "values(1, 3)"}, {"r", "values(0, 4)"}}),
      {0.2F, 1.4F});
}

/// Of small values, which show it: 1e-5, and 1e-12 where operands are added first.
TEST(ImportNormalisation, EpsilonsWhereTheAttributeIsAbsent) {
  const auto expect_epsilon = [](int opset, const std::string& call, double epsilon) {
    SCOPED_TRACE(call);
    const auto y = static_cast<float>(0.001 / std::sqrt(1e-6 + epsilon));
    expect_values(values_at(opset,
                            "(float[1,2] x) => (float[1,2] y) <float[2] s = {1, 1}, float[2] b = "
                            "{0, 0}, float[1,2] r = {0, 0}> { y = " +
                                call + " }",
                            {{"x", "values(-0.001, 0.001)"}}),
                  {-y, y});
  };
  expect_epsilon(23, "RMSNormalization(x, s)", 1e-5);
  expect_epsilon(17, "LayerNormalization(x, s, b)", 1e-5);
  expect_epsilon(17, "com.microsoft.SkipSimplifiedLayerNormalization(x, r, s)", 1e-12);
  expect_epsilon(17, "com.microsoft.SkipLayerNormalization(x, r, s)", 1e-12);
}

TEST(ImportLosses, OfTheChosenClasses) {
  const Binds binds = {
      {"x", "values(1, 2, 4, 8, 16, 32)"}, {"t", "values(2, 0)"}, {"w", "values(1, 10, 3)"}};
  const std::string inputs = "(float[2,3] x, int64[2] t, float[3] w) => ";
  EXPECT_EQ(values_at(13, inputs + "(float y) { y = NegativeLogLikelihoodLoss(x, t) }", binds),
            (Floats{-6}));
  EXPECT_EQ(values_at(13, inputs + "(float y) { y = NegativeLogLikelihoodLoss(x, t, w) }", binds),
            (Floats{-5}));
  EXPECT_EQ(values_at(13,
                      inputs + "(float[2] y) { y = NegativeLogLikelihoodLoss<reduction = \"none\", "
                               "ignore_index = 0>(x, t, w) }",
                      binds),
            (Floats{-12, 0}));
  const float loss = std::log(std::exp(-3.0F) + std::exp(-2.0F) + 1);
  expect_values(values_at(13,
                          inputs + "(float[2] y) { y = SoftmaxCrossEntropyLoss<reduction = "
                                   "\"none\">(x, t) }",
                          binds),
                {loss, 24});
}

using Real = double (*)(double);

void expect_function(const std::string& call, const std::string& xs, const Floats& x, Real f,
                     int opset = 24) {
  Floats expected;
  for (const float v : x) expected.push_back(static_cast<float>(f(v)));
  SCOPED_TRACE(call);
  const std::string n = std::to_string(x.size());
  expect_values(
      values_at(opset, "(float[" + n + "] x) => (float[" + n + "] y) { y = " + call + " }",
                {{"x", "values(" + xs + ")"}}),
      expected, 2e-6F);
}

TEST(ImportFunctions, OfOneNumber) {
  const std::string all = "-3, -0.7, -0.1, 0, 0.2, 0.6, 2.5";
  const Floats x = {-3, -0.7F, -0.1F, 0, 0.2F, 0.6F, 2.5F};
  expect_function("Atan(x)", all, x, [](double v) { return std::atan(v); });
  expect_function("Asinh(x)", all, x, [](double v) { return std::asinh(v); });
  expect_function("Sinh(x)", all, x, [](double v) { return std::sinh(v); });
  expect_function("Cosh(x)", all, x, [](double v) { return std::cosh(v); });
  expect_function("Tan(x)", all, x, [](double v) { return std::tan(v); });
  expect_function("Mish(x)", all, x,
                  [](double v) { return v * std::tanh(std::log1p(std::exp(v))); });
  expect_function("Swish<alpha = 0.5>(x)", all, x,
                  [](double v) { return v / (1 + std::exp(-0.5 * v)); });
  expect_function("com.microsoft.QuickGelu(x)", all, x,
                  [](double v) { return v / (1 + std::exp(-1.702 * v)); });
  expect_function("com.microsoft.Gelu(x)", all, x,
                  [](double v) { return v / 2 * (1 + std::erf(v / std::sqrt(2))); });
  expect_function("Celu<alpha = 2.0>(x)", all, x,
                  [](double v) { return v > 0 ? v : 2 * std::expm1(v / 2); });
  expect_function("Shrink<bias = 1.0, lambd = 0.5>(x)", all, x, [](double v) {
    return v < -0.5 ? v + 1 : v > 0.5 ? v - 1 : 0;
  });
  const std::string unit = "-1, -0.7, -0.1, 0, 0.2, 0.6, 1";
  const Floats in_unit = {-1, -0.7F, -0.1F, 0, 0.2F, 0.6F, 1};
  expect_function("Asin(x)", unit, in_unit, [](double v) { return std::asin(v); });
  expect_function("Acos(x)", unit, in_unit, [](double v) { return std::acos(v); });
  const std::string inner = "-0.9, -0.7, -0.1, 0, 0.2, 0.6, 0.8";
  const Floats in_inner = {-0.9F, -0.7F, -0.1F, 0, 0.2F, 0.6F, 0.8F};
  expect_function("Atanh(x)", inner, in_inner, [](double v) { return std::atanh(v); });
  expect_function("Acosh(x)", "1, 1.5, 4", {1, 1.5F, 4}, [](double v) { return std::acosh(v); });
}

TEST(ImportFunctions, ProductsOfMicrosoft) {
  EXPECT_EQ(values_at(17,
                      "(float[1,2] a, float[2,2] b) => (float[1,2] y) { y = "
                      "com.microsoft.FusedMatMul<alpha = 2.0, transB = 1>(a, b) }",
                      {{"a", "values(1, 10)"}, {"b", "values(1, 2, 3, 4)"}}),
            (Floats{42, 86}));
}

/// A node that is written as others, and a Cast that is one kernel with it: the product's 2001 and
/// 4003, of which halves have the first; 4004 is the even neighbour of the other.
TEST(ImportFunctions, ARoundingCastComesAfterTheNodesOfABody) {
  const auto cast = [](const std::string& node) {
    return imported_with(
        model_at(23,
                 "(float[1,2] a, float[2,2] b) => (float16[1,2] y) <bool yes = {1}, int64 two = "
                 "{2}> { m = " +
                     node + " y = Cast<to = 10>(m) }"),
        {{"a", "values(1, 1000)"}, {"b", "values(1, 2, 3, 4)"}});
  };
  const Program product = cast("com.microsoft.FusedMatMul<transB = 1>(a, b)");
  EXPECT_EQ(product.regions.size(), 1U);
  EXPECT_EQ(result_of(product), (Floats{2001, 4004}));
  EXPECT_EQ(result_of(cast("If<then_branch = p () => (float[1,2] c) { c = MatMul(a, b) }, "
                           "else_branch = q () => (float[1,2] d) { d = Identity(a) }>(yes)")),
            (Floats{3000, 4002}));
  EXPECT_EQ(result_of(cast("Loop<body = l (int64 i, bool g, float[1,2] r) => (bool h, float[1,2] "
                           "e) { h = Identity(g) e = MatMul(r, b) }>(two, \"\", a)")),
            (Floats{15008, 22016}));
}

TEST(ImportFunctions, OfAnotherDomainAreRefusedByName) {
  expect_refused(17, "(float[2] x) => (float[2] y) { y = com.microsoft.NoSuchThing(x) }",
                 {{"x", "values(1, 2)"}}, "com.microsoft.NoSuchThing");
}

}  // namespace
}  // namespace fuseflow
