// The reference evaluation against values worked out by hand, and its fast paths against the plain
// one.
#include "reference/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/parse.h"

namespace fuseflow {
namespace {

std::vector<Value> run(const std::string& text, ReferenceOptions options = {}) {
  const Program program = parse_program({"test", "fuseflow 1\n" + text});
  std::vector<std::shared_ptr<const Storage>> inputs(program.tensors.size());
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const Tensor& tensor = program.tensors[t];
    if (tensor.source.kind == Source::Kind::none) continue;
    inputs[t] = std::make_shared<Storage>(
        load(tensor.source, known_shape(tensor), tensor.format, tensor.fill));
  }
  return evaluate(program, inputs, options);
}

std::vector<float> last(const std::vector<Value>& values) {
  return values.back().dense ? *values.back().dense : to_dense(*values.back().sparse);
}

constexpr const char* kMatrices = R"(
input %a: f32[2, 3] dense,compressed = values(1, 0, 2, 0, 0, 3)
input %d: f32[2, 3] dense,dense = values(1, 0, 2, 0, 0, 3)
input %b: f32[3, 2] dense,dense = values(1, 2, 3, 4, 5, 6)
)";

TEST(Reference, SparseProductEqualsDenseProduct) {
  const auto text = [](const std::string& a) {
    return std::string(kMatrices) +
           "result %y: f32[2, 2] dense,dense\nregion @y {\n%y[i, k] = sum(j) " + a +
           "[i, j] * %b[j, k]\n}\n";
  };
  const std::vector<float> expected = {11, 14, 15, 18};
  EXPECT_EQ(last(run(text("%a"))), expected);
  EXPECT_EQ(last(run(text("%d"))), expected);
}

TEST(Reference, TransposedResultAndBroadcast) {
  EXPECT_EQ(last(run(std::string(kMatrices) + R"(
result %y: f32[3, 2] dense,dense
region @y {
  %y[j, i] = relu(%a[i, j] - 1) + 1
})")),
            (std::vector<float>{1, 1, 1, 1, 2, 3}));
}

TEST(Reference, ReductionsOfAbsentAndOfNothing) {
  EXPECT_EQ(last(run(std::string(kMatrices) + R"(
result %y: f32[2] dense
region @y {
  %y[i] = max(j) (%a[i, j] - 2)
})")),
            (std::vector<float>{0, 1}));
  EXPECT_EQ(last(run(R"(
input %e: f32[2, 0] dense,dense = values()
result %y: f32[2] dense
region @y {
  %y[i] = max(j) %e[i, j]
})")),
            std::vector<float>(2, -std::numeric_limits<float>::infinity()));
}

TEST(Reference, InfinityInAFactorDisablesTheSparsePath) {
  const auto y = last(run(R"(
input %a: f32[1, 2] dense,compressed = values(0, 1)
input %b: f32[2] dense = values(inf, 1)
result %y: f32[1] dense
region @y {
  %y[i] = sum(j) %a[i, j] * %b[j]
})"));
  EXPECT_TRUE(std::isnan(y[0]));
}

TEST(Reference, AnInfiniteFactorIsMultipliedTermByTerm) {
  EXPECT_TRUE(std::isnan(last(run(R"(
input %a: f32[2] dense = values(1, 1)
input %b: f32[2] dense = values(1, 0)
result %y: f32[] scalar
region @y {
  %y = sum(i) %a[i] * %b[i] * -inf
})"))[0]));
}

TEST(Reference, SubscriptsOutsideReadTheFill) {
  EXPECT_EQ(last(run(R"(
input %x: f32[3] dense fill(7) = values(1, 2, 3)
result %y: f32[4] dense
region @y {
  %y[i] = %x[2*i - 1]
})")),
            (std::vector<float>{7, 2, 7, 7}));
}

TEST(Reference, BlockingDoesNotChangeResults) {
  const std::string text = std::string(kMatrices) + R"(
result %y: f32[2, 2] dense,dense
region @y {
  %y[i, k] = max(j) exp(%d[i, j] + %b[j, k])
})";
  EXPECT_EQ(last(run(text)), last(run(text, {.threads = 1, .max_elements = 5, .on_result = {}})));
}

TEST(Reference, ASparseFactorTooLargeToSpellOutDrives) {
  // %g has 16 elements, %x 8, which is all that may be spelled out; once %g has fewer entries, once
  // %x.
  const std::string text = R"(
input %g: f32[4, 4] dense,compressed = values(0,0,2,0,0,0,0,0,1,0,0,0,0,0,0,0)
input %x: f32[4, 2] dense,compressed = values(1,2, 3,0, 0,5, 6,7)
result %y: f32[4, 2] dense,dense
region @y {
  %y[i, f] = sum(k) %g[i, k] * %x[k, f]
})";
  const std::vector<float> expected = {0, 10, 0, 0, 1, 2, 0, 0};
  EXPECT_EQ(last(run(text)), expected);
  EXPECT_EQ(last(run(text, {.threads = 1, .max_elements = 8, .on_result = {}})), expected);
  std::string other = text;  // now the entries are in %g
  other.replace(other.find("0,0,2,0,0,0,0,0,1,0,0,0,0,0,0,0"), 31,
                "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1");
  const std::vector<float> sums = {10, 14, 10, 14, 10, 14, 10, 14};
  EXPECT_EQ(last(run(other, {.threads = 1, .max_elements = 8, .on_result = {}})), sums);
}

Value value(std::vector<float> x) {
  return Value{{static_cast<int64_t>(x.size())},
               std::make_shared<const std::vector<float>>(std::move(x)),
               nullptr};
}

TEST(Compare, NaNAndInfinityMustAgree) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(compare(value({1, inf, NAN}), value({1, inf, NAN})).passes(0));
  EXPECT_FALSE(compare(value({1, inf}), value({1, -inf})).passes(1));
  EXPECT_FALSE(compare(value({1, NAN}), value({1, 2})).passes(1));
  EXPECT_TRUE(compare(value({1.00001F, 2}), value({1, 2})).passes(1e-4));
  EXPECT_FALSE(compare(value({1.001F, 2}), value({1, 2})).passes(1e-4));
}

TEST(Compare, RelativeErrorsHaveAFloorByTheLargestExpected) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto error = [](std::vector<float> a, std::vector<float> e) {
    return compare(value(std::move(a)), value(std::move(e))).max_rel_error;
  };
  EXPECT_DOUBLE_EQ(error({2.5F, 100}, {2, 100}), 0.25);
  EXPECT_DOUBLE_EQ(error({0.5F, 1000}, {0, 1000}), 500);  // 0.5 / (1e-6 * 1000)
  EXPECT_DOUBLE_EQ(error({1, inf, NAN}, {2, inf, NAN}), 0.5);
  EXPECT_EQ(error({0, -0.0F}, {0, 0}), 0);
  EXPECT_EQ(error({1}, {0}), inf);
  EXPECT_EQ(error({}, {}), 0);
}

TEST(Compare, SparseValuesTooLargeToSpellOutCompareTheirEntries) {
  const auto sparse = [](std::vector<float> x, float fill) {
    const std::vector<uint32_t> at = {1, 2, 3};
    return value_of(std::make_shared<const Storage>(
        from_coo({1 << 15, 1 << 15}, {at, at}, std::move(x), sparse_format(2), fill)));
  };
  const Comparison c = compare(sparse({1, 2, 5}, 0), sparse({1, 2, 4}, 0));
  EXPECT_DOUBLE_EQ(c.max_abs_expected, 4);
  EXPECT_DOUBLE_EQ(c.max_rel_error, 0.25);
  EXPECT_EQ(c.worst, 3 * (int64_t{1} << 15) + 3);
  EXPECT_FALSE(compare(sparse({1, 2, 4}, 1), sparse({1, 2, 4}, 0)).passes(1e-4));
}

}  // namespace
}  // namespace fuseflow
