// Facts found in data: each definition, the fill, and where a contradiction is.
#include "tensor/survey.h"

#include <cmath>
#include <limits>

#include "tensor_testing.h"

namespace fuseflow {
namespace {

using testing::kInf;

Facts found(std::vector<float> values) {
  return facts_of(survey_values(values));
}

TEST(Survey, EachFactByItsDefinition) {
  EXPECT_TRUE(found({1, 2}).finite);
  EXPECT_TRUE(found({1, 2}).nonzero);
  EXPECT_TRUE(found({0, 2}).nonnegative);
  EXPECT_TRUE(found({-0.0F, 2}).nonnegative);
  EXPECT_FALSE(found({-0.0F, 2}).nonzero);
  EXPECT_FALSE(found({-1, 2}).nonnegative);
  EXPECT_FALSE(found({1, kInf}).finite);
  EXPECT_FALSE(found({1, kInf}).below_inf);
  EXPECT_TRUE(found({1, kInf}).no_nan);
  EXPECT_TRUE(found({1, -kInf}).below_inf);
  EXPECT_FALSE(found({1, -kInf}).finite);
  const Facts nan = found({1, std::nanf("")});
  EXPECT_FALSE(nan.no_nan || nan.finite || nan.below_inf || nan.nonnegative);
  EXPECT_TRUE(nan.nonzero);
  EXPECT_EQ(found({-3, 5}).least, -3);
  EXPECT_EQ(found({-3, 5}).largest, 5);
}

/// The lanes and blocks of the pass see every element, wherever the odd one is.
TEST(Survey, FindsOneOddElementAnywhere) {
  for (const size_t size : {1U, 15U, 16U, 17U, 65536U, 65553U}) {
    for (const size_t at : {size_t{0}, size / 2, size - 1}) {
      std::vector<float> values(size, 1);
      values[at] = 0;
      EXPECT_FALSE(found(values).nonzero) << size << " " << at;
      values[at] = std::nanf("");
      EXPECT_FALSE(found(values).no_nan) << size << " " << at;
      values[at] = -kInf;
      EXPECT_FALSE(found(values).finite) << size << " " << at;
    }
  }
}

TEST(Survey, TheFillCountsWhereEntriesMayBeAbsent) {
  const std::vector<float> values = {1, 0, 0, 4};
  const Storage sparse = from_dense(values, {2, 2}, sparse_format(2));
  EXPECT_FALSE(facts_of(sparse).nonzero);
  EXPECT_EQ(facts_of(sparse).least, 0);
  const Storage full =
      from_dense(Buffer<float>(std::vector<float>{1, 2, 3, 4}), {2, 2}, dense_format(2));
  EXPECT_TRUE(facts_of(full).nonzero);
  const Storage masked = from_dense(Buffer<float>(std::vector<float>{1, -kInf, -kInf, 4}), {2, 2},
                                    sparse_format(2), -kInf);
  EXPECT_FALSE(facts_of(masked).finite);
  EXPECT_TRUE(facts_of(masked).below_inf);
}

/// Rows hold -1, 2 and nothing else; columns -1 and the fill, 2, and 5.
TEST(Survey, LeastOfTheLargestValuesOfFibers) {
  const std::vector<float> values = {-1, 2, 0, 0, 0, 5};
  for (const char* format : {"dense,compressed", "compressed,dense@1,0", "dense,dense"}) {
    const Storage storage = from_dense(values, {2, 3}, parse_format(format));
    EXPECT_EQ(least_fiber_maximum(storage, {false, true}), 2) << format;
    EXPECT_EQ(least_fiber_maximum(storage, {true, false}), 0) << format;
    EXPECT_EQ(least_fiber_maximum(storage, {true, true}), 5) << format;
    EXPECT_EQ(least_fiber_maximum(storage, {false, false}), -1) << format;
  }
  const std::vector<float> full = {-1, -2, -3, -4};
  EXPECT_EQ(least_fiber_maximum(from_dense(full, {2, 2}, sparse_format(2)), {false, true}), -3);
  const std::vector<float> nan = {std::nanf(""), 2, std::nanf(""), std::nanf("")};
  EXPECT_EQ(least_fiber_maximum(from_dense(nan, {2, 2}, dense_format(2)), {false, true}), -kInf);
}

TEST(Survey, NamesTheEntryThatContradicts) {
  const Storage storage =
      from_dense(Buffer<float>(std::vector<float>{0, 2, 0, -4}), {2, 2}, sparse_format(2));
  Facts facts;
  EXPECT_FALSE(find_contradiction(storage, facts));
  facts.nonnegative = true;
  const auto wrong = find_contradiction(storage, closed(facts));
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->coords, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(wrong->value, -4);
  facts = {};
  facts.nonzero = true;
  ASSERT_TRUE(find_contradiction(storage, facts));
  EXPECT_TRUE(find_contradiction(storage, facts)->is_fill);
  EXPECT_FALSE(find_contradiction(storage, facts_of(storage)));
}

}  // namespace
}  // namespace fuseflow
