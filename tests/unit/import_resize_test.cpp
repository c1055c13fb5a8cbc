// Resize, Upsample, convolutions, pooling and sampling by a grid: values worked out by hand.
#include "import_values.h"

namespace fuseflow {
namespace {

/// One dimension of x, resized by `scale` with the given attributes.
Floats resized(const std::string& x, int count, const std::string& scale,
               const std::string& attributes, int opset = 19) {
  return values_at(opset,
                   "(float[1,1," + std::to_string(count) + "] x) => (float[1,1,N] y) " +
                       "<float[3] s = {1, 1, " + scale + "}> { y = Resize<" + attributes +
                       ">(x, \"\", s) }",
                   {{"x", "values(" + x + ")"}});
}

TEST(ImportResize, NearestIsASelection) {
  EXPECT_EQ(resized("1, 2", 2, "2", "mode = \"nearest\""), (Floats{1, 1, 2, 2}));
  const std::string asymmetric =
      "mode = \"nearest\", coordinate_transformation_mode = "
      "\"asymmetric\", nearest_mode = \"ceil\"";
  EXPECT_EQ(resized("1, 2, 3", 3, "2", asymmetric), (Floats{1, 2, 2, 3, 3, 3}));
  EXPECT_EQ(resized("1, 2, 3, 4", 4, "0.5", "mode = \"nearest\""), (Floats{1, 3}));
}

TEST(ImportResize, LinearIsAProductWithASparseMatrix) {
  EXPECT_EQ(resized("1, 2, 4", 3, "2", "mode = \"linear\""), (Floats{1, 1.25, 1.75, 2.5, 3.5, 4}));
  const std::string aligned =
      "mode = \"linear\", coordinate_transformation_mode = \"align_corners\"";
  EXPECT_EQ(resized("0, 2", 2, "2.5", aligned), (Floats{0, 0.5, 1, 1.5, 2}));
  // The taps of a reduction by two reach twice as far: weights 1/8, 3/8, 3/8, 1/8.
  EXPECT_EQ(resized("1, 2, 3, 4", 4, "0.5", "mode = \"linear\", antialias = 1"),
            (Floats{1.625, 3.375}));
}

TEST(ImportResize, CubicHasItsWeights) {
  // Halfway between two elements: -3/32, 19/32, 19/32, -3/32 for a = -0.75.
  const std::string cubic = "mode = \"cubic\", coordinate_transformation_mode = \"asymmetric\"";
  const Floats y = resized("0, 32, 0, 0", 4, "2", cubic);
  expect_values(y, {0, 19, 32, 19, 0, -3, 0, 0});
  const Floats excluded = resized("1, 1, 1, 1", 4, "2", cubic + ", exclude_outside = 1");
  expect_values(excluded, Floats(8, 1));
}

TEST(ImportResize, BySizesThatKeepTheRatio) {
  const std::string graph =
      "(float[1,1,2,4] x) => (float[1,1,N,M] y) <int64[2] s = {4, 12}> { y = Resize<mode = "
      "\"nearest\", axes = [2, 3], keep_aspect_ratio_policy = \"not_larger\">(x, \"\", \"\", s) }";
  const Floats y = values_at(19, graph, {{"x", "values(1, 2, 3, 4, 5, 6, 7, 8)"}});
  const Floats row1 = {1, 1, 2, 2, 3, 3, 4, 4};
  const Floats row2 = {5, 5, 6, 6, 7, 7, 8, 8};
  Floats expected;
  for (const Floats* row : {&row1, &row1, &row2, &row2})
    expected.insert(expected.end(), row->begin(), row->end());
  EXPECT_EQ(y, expected);
}

TEST(ImportResize, OutsideOfTheCropIsTheExtrapolation) {
  const std::string graph =
      "(float[1,1,3] x) => (float[1,1,N] y) <float[6] r = {0, 0, 0, 1, 1, 2}, int64[3] s = {1, 1, "
      "5}> { y = Resize<mode = \"linear\", coordinate_transformation_mode = "
      "\"tf_crop_and_resize\", extrapolation_value = -9.0>(x, r, \"\", s) }";
  EXPECT_EQ(values_at(19, graph, {{"x", "values(1, 2, 3)"}}), (Floats{1, 2, 3, -9, -9}));
}

TEST(ImportResize, RefusesWhatItDoesNotKnow) {
  const std::string graph =
      "(float[1,1,2] x) => (float[1,1,4] y) <float[3] s = {1, 1, 2}> { y = "
      "Resize<mode = \"lanczos\">(x, \"\", s) }";
  expect_refused(19, graph, {{"x", "values(1, 2)"}}, "expected nearest, linear");
}

/// Up where a dimension shrinks, down where it grows: what ONNX's own test of opset 10 expects.
TEST(ImportResize, NearestOfOpset10IsByScale) {
  const auto resized_by = [](const std::string& scales, const std::string& shape) {
    return values_at(10,
                     "(float[1,1,2,4] x) => (float[1,1," + shape + "] y) <float[4] s = {1, 1, " +
                         scales + "}> { y = Resize<mode = \"nearest\">(x, s) }",
                     {{"x", "values(1, 2, 3, 4, 5, 6, 7, 8)"}});
  };
  EXPECT_EQ(resized_by("0.6, 0.6", "1,2"), (Floats{1, 3}));
  EXPECT_EQ(resized_by("1.5, 0.5", "3,2"), (Floats{1, 3, 1, 3, 5, 7}));
}

TEST(ImportUpsample, OfOldOpsets) {
  const Binds x = {{"x", "values(1, 2)"}};
  EXPECT_EQ(values_at(7,
                      "(float[1,1,1,2] x) => (float[1,1,2,4] y) { y = Upsample<scales : floats = "
                      "[1.0, 1.0, 2.0, 2.0]>(x) }",
                      x),
            (Floats{1, 1, 2, 2, 1, 1, 2, 2}));
  EXPECT_EQ(values_at(9,
                      "(float[1,1,1,2] x) => (float[1,1,1,4] y) <float[4] s = {1, 1, 1, 2}> { y = "
                      "Upsample<mode = \"linear\">(x, s) }",
                      x),
            (Floats{1, 1.5, 2, 2}));
}

/// x = [1, 2] by weights [1, 10, 100].
Floats transposed(const std::string& attributes) {
  return values_at(11,
                   "(float[1,1,2] x) => (float[1,1,N] y) <float[1,1,3] w = {1, 10, 100}> { y = "
                   "ConvTranspose<" +
                       attributes + ">(x, w) }",
                   {{"x", "values(1, 2)"}});
}

TEST(ImportConvTranspose, EachStrideHasItsForm) {
  EXPECT_EQ(transposed("strides = [1]"), (Floats{1, 12, 120, 200}));
  EXPECT_EQ(transposed("strides = [1], pads = [1, 1]"), (Floats{12, 120}));
  EXPECT_EQ(transposed("strides = [2]"), (Floats{1, 10, 102, 20, 200}));  // pairs that meet
  EXPECT_EQ(transposed("strides = [2], output_padding = [1]"), (Floats{1, 10, 102, 20, 200, 0}));
  EXPECT_EQ(transposed("strides = [2], pads = [1, 1], output_padding = [1]"),
            (Floats{10, 102, 20, 200}));
  EXPECT_EQ(transposed("strides = [3], pads = [0, 0]"), (Floats{1, 10, 100, 2, 20, 200}));
  EXPECT_EQ(transposed("strides = [2], dilations = [2]"), (Floats{1, 0, 12, 0, 120, 0, 200}));
  EXPECT_EQ(transposed("strides = [2], output_shape = [4]"), (Floats{10, 102, 20, 200}));
  EXPECT_EQ(transposed("strides = [2], auto_pad = \"SAME_UPPER\""), (Floats{1, 10, 102, 20}));
}

TEST(ImportConvTranspose, GroupsAndBias) {
  const std::string graph =
      "(float[1,2,2] x, float[2] b) => (float[1,2,3] y) <float[2,1,2] w = {1, 2, 10, 20}> { y = "
      "ConvTranspose<group = 2>(x, w, b) }";
  EXPECT_EQ(values_at(11, graph, {{"x", "values(1, 2, 3, 4)"}, {"b", "values(100, 1000)"}}),
            (Floats{101, 104, 104, 1030, 1100, 1080}));
}

TEST(ImportConvTranspose, OfTwoDimensions) {
  // Two phases in each dimension: every element of x becomes a copy of the kernel.
  const std::string graph =
      "(float[1,1,2,2] x) => (float[1,1,4,4] y) <float[1,1,2,2] w = {1, 2, 3, 4}> { y = "
      "ConvTranspose<strides = [2, 2]>(x, w) }";
  EXPECT_EQ(values_at(11, graph, {{"x", "values(1, 10, 100, 1000)"}}),
            (Floats{1, 2, 10, 20, 3, 4, 30, 40, 100, 200, 1000, 2000, 300, 400, 3000, 4000}));
}

TEST(ImportWindows, PadsOfADimensionOfOneAreNoCopiesOfIt) {
  const auto under = [](const std::string& node) {
    return values_at(18,
                     "(float[1,1,1,3] x) => (float[1,1,1,3] y) <float[1,1,3,3] w = {1, 1, 1, 1, 1, "
                     "1, 1, 1, 1}> { y = " +
                         node + " }",
                     {{"x", "values(1, 2, 3)"}});
  };
  const std::string window = "<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x";
  EXPECT_EQ(under("Conv" + window + ", w)"), (Floats{3, 6, 5}));
  EXPECT_EQ(under("LpPool" + window.substr(0, window.size() - 3) + ", p = 1>(x)"),
            (Floats{3, 6, 5}));
  EXPECT_EQ(under("AveragePool" + window + ")"), (Floats{1.5F, 2, 2.5F}));  // of what is inside
}

/// The last window has one element of x, and no 0 beside it.
TEST(ImportWindows, PadsAtTheEndAlone) {
  EXPECT_EQ(values_at(18,
                      "(float[1,1,9] x) => (float[1,1,3] y) { y = MaxPool<kernel_shape = [3], "
                      "strides = [4], pads = [0, 2]>(x) }",
                      {{"x", "values(-9, -8, -7, -6, -5, -4, -3, -2, -1)"}}),
            (Floats{-7, -3, -1}));
}

TEST(ImportPooling, NormsAndPlaces) {
  const Binds x = {{"x", "values(3, -4, 0, 12, 5)"}};
  expect_values(values_at(18,
                          "(float[1,1,5] x) => (float[1,1,3] y) { y = LpPool<kernel_shape = [2], "
                          "strides = [2], pads = [0, 1]>(x) }",
                          x),
                {5, 12, 5});
  EXPECT_EQ(values_at(18, "(float[1,1,5] x) => (float[1,1,1] y) { y = GlobalLpPool<p = 1>(x) }", x),
            (Floats{24}));
  EXPECT_EQ(values_at(12,
                      "(float[1,1,5] x) => (int64[1,1,3] y) { m, y = MaxPool<kernel_shape = [3], "
                      "pads = [1, 1], strides = [2]>(x) }",
                      x),
            (Floats{0, 3, 3}));
}

TEST(ImportPooling, ResponsesOfNeighbouringChannels) {
  const Floats y = values_at(13,
                             "(float[1,3,1] x) => (float[1,3,1] y) { y = LRN<size = 3, alpha = 3.0,"
                             " beta = 1.0, bias = 1.0>(x) }",
                             {{"x", "values(1, 2, 3)"}});
  expect_values(y, {1.0F / 6, 2.0F / 15, 3.0F / 14});
}

TEST(ImportPadding, CropsAndPadsAroundTheCenter) {
  EXPECT_EQ(values_at(18,
                      "(float[5,2] x) => (float[2,5] y) <int64[2] s = {2, 5}> { y = "
                      "CenterCropPad(x, s) }",
                      {{"x", "values(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)"}}),
            (Floats{0, 3, 4, 0, 0, 0, 5, 6, 0, 0}));
}

/// Normalising along an axis twice took forever; the others changed a dimension twice.
TEST(ImportAxes, AreGivenOnceEach) {
  const Binds x = {{"x", "values(1, 2, 3, 4)"}};
  expect_refused(13,
                 "(float[2,2] x) => (float[2,2] y) { y = MeanVarianceNormalization<axes = [0, 1, "
                 "-1]>(x) }",
                 x, "axis -1 is given twice");
  expect_refused(18,
                 "(float[2,2] x) => (float[1,2] y) <int64[2] s = {1, 1}> { y = CenterCropPad<axes "
                 "= [0, 0]>(x, s) }",
                 x, "axis 0 is given twice");
  expect_refused(13,
                 "(float[2,2] x) => (float[1,2] y) <int64[2] b = {0, 1}, int64[2] e = {2, 2}, "
                 "int64[2] a = {0, -2}> { y = Slice(x, b, e, a) }",
                 x, "axis -2 is given twice");
}

Floats sampled(const std::string& grid, const std::string& attributes) {
  return values_at(20,
                   "(float[1,1,1,4] x, float[1,1,3,2] g) => (float[1,1,1,3] y) { y = "
                   "GridSample<align_corners = 1" +
                       attributes + ">(x, g) }",
                   {{"x", "values(10, 20, 30, 40)"}, {"g", "values(" + grid + ")"}});
}

TEST(ImportGrid, PlacesBetweenAndBeyond) {
  // Places 0, 1.5 and 4.5 of 0 .. 3.
  const std::string grid = "-1, 0, 0, 0, 2, 0";
  expect_values(sampled(grid, ""), {10, 25, 0});
  expect_values(sampled(grid, ", padding_mode = \"border\""), {10, 25, 40});
  expect_values(sampled(grid, ", padding_mode = \"reflection\""), {10, 25, 25});
  expect_values(sampled("-1, 0, 0.5, 0, 1, 0", ", mode = \"nearest\""), {10, 30, 40});
}

TEST(ImportGrid, AffineIsAProduct) {
  EXPECT_EQ(values_at(20,
                      "(float[1,2,3] t) => (float[1,1,2,2] y) <int64[4] s = {1, 1, 1, 2}> { y = "
                      "AffineGrid(t, s) }",
                      {{"t", "values(2, 0, 1, 0, 1, 5)"}}),
            (Floats{0, 5, 2, 5}));
}

}  // namespace
}  // namespace fuseflow
