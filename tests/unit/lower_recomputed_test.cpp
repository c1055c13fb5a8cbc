// What is expected of storing intermediates that are recomputed at every use.
#include <gtest/gtest.h>

#include <limits>

#include "ir/parse.h"
#include "lower/recomputed_work.h"

namespace fuseflow {
namespace {

/// %a to %d, each of the one before it; %d reads %a, too.
std::vector<Statement> chain_of_four() {
  const Program program = parse_program({"chain.ff", R"(fuseflow 1
input %x: f32[4] dense
temp %a: f32[4] dense
temp %b: f32[4] dense
temp %c: f32[4] dense
result %d: f32[4] dense
region @d {
  %a[i] = relu(%x[i])
  %b[i] = relu(%a[i])
  %c[i] = relu(%b[i])
  %d[i] = %c[i] + %a[i]
}
)"});
  return program.regions[0].statements;
}

/// By statement.
FlopsByResult flops_by(const std::vector<Statement>& statements, std::vector<double> flops) {
  FlopsByResult all;
  for (size_t s = 0; s < statements.size(); ++s) all[statements[s].result] = flops[s];
  return all;
}

TEST(RecomputedWork, StoringOneLeavesTheOthersInProportion) {
  const std::vector<Statement> chain = chain_of_four();
  RecomputedWork work(chain, flops_by(chain, {240, 40, 10, 10}), flops_by(chain, {10, 10, 10, 10}));
  EXPECT_EQ(work.flops(), 300);
  EXPECT_EQ(work.jump(0), 6);  // of the reader that is computed most often
  EXPECT_EQ(work.jump(1), 4);
  EXPECT_EQ(work.jump(2), 1);
  ASSERT_EQ(work.worst(), 0U);
  work.settle(0, true);
  EXPECT_EQ(work.flops(), 10 + 40 + 10 + 10);
  ASSERT_EQ(work.worst(), 1U);
  work.settle(1, true);
  EXPECT_EQ(work.flops(), 40);
  EXPECT_EQ(work.worst(), std::nullopt);
}

TEST(RecomputedWork, WhatMayNotBeStoredStaysAsItIs) {
  const std::vector<Statement> chain = chain_of_four();
  RecomputedWork work(chain, flops_by(chain, {240, 40, 10, 10}), flops_by(chain, {10, 10, 10, 10}));
  work.settle(0, false);
  EXPECT_EQ(work.flops(), 300);
  ASSERT_EQ(work.worst(), 1U);
  work.settle(1, true);
  EXPECT_EQ(work.flops(), 60 + 10 + 10 + 10);
}

/// What a double does not hold multiplies as often as what reads it.
TEST(RecomputedWork, BeyondWhatNumbersSay) {
  const std::vector<Statement> chain = chain_of_four();
  for (const double beyond :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(), 1e302}) {
    RecomputedWork work(chain, flops_by(chain, {beyond, beyond, 1e299, 10}),
                        flops_by(chain, {10, 10, 10, 10}));
    EXPECT_GT(work.flops(), 1e300);
    EXPECT_DOUBLE_EQ(work.jump(0), 1e298);
    ASSERT_EQ(work.worst(), 0U);
    for (const size_t s : {0, 1, 2}) work.settle(s, true);
    EXPECT_EQ(work.flops(), 40);
  }
}

}  // namespace
}  // namespace fuseflow
