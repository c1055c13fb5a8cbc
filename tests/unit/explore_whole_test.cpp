// The best program of a search as a whole: confirmed, and with what stays on chip.
#include <gtest/gtest.h>

#include "explore/whole_program.h"
#include "ir/parse.h"
#include "ir/residency.h"
#include "machine/load.h"

namespace fuseflow {
namespace {

constexpr char kTwoProducts[] = R"(fuseflow 1
input %x: f32[8, 8] dense,dense = uniform(density=1,seed=1)
temp %h: f32[8, 8] dense,dense
result %y: f32[8, 8] dense,dense
region @h { %h[i, j] = sum(k) %x[i, k] * %x[k, j] }
region @y { %y[i, j] = sum(k) %h[i, k] * %h[k, j] }
)";

/// A search that found two regions of so many cycles together; 0: nothing.
SearchResult found(double cycles) {
  SearchResult result;
  result.program = parse_program({"test", kTwoProducts});
  result.best.cycles = cycles;
  return result;
}

bool any_stays(const SearchResult& result) {
  return !residents(*result.program).empty();
}

double confirmed_cycles(const char* machine) {
  SearchResult result = found(1);
  result.objective = Objective::energy;  // nothing is tried for fewer cycles
  finish_best(result, load_machine(machine), 1);
  EXPECT_FALSE(any_stays(result));
  EXPECT_EQ(result.notes.size(), 1U);
  EXPECT_NE(result.notes.at(0).find("its regions alone 1:"), std::string::npos);
  return result.best.cycles;
}

TEST(ExploreWhole, WhatStaysOnChipIsTakenWhereItIsFaster) {
  const double apart = confirmed_cycles("rda");
  SearchResult result = found(apart);
  finish_best(result, load_machine("rda"), 1);
  EXPECT_TRUE(any_stays(result));
  EXPECT_LT(result.best.cycles, apart);
  EXPECT_EQ(result.best.dram_bytes, 4 * (64 + 512 + 64));  // %x in rows and in columns, %y
  EXPECT_GT(result.best.energy_pj, 0);
  ASSERT_EQ(result.notes.size(), 2U);
  EXPECT_NE(result.notes[0].find("%h stays in the scratchpad"), std::string::npos);
}

TEST(ExploreWhole, AScratchpadWithoutLimitsDecidesNothing) {
  const double apart = confirmed_cycles("ideal");
  SearchResult result = found(apart);
  finish_best(result, load_machine("ideal"), 1);
  EXPECT_FALSE(any_stays(result));
  EXPECT_EQ(result.best.cycles, apart);
  EXPECT_TRUE(result.notes.empty());
}

TEST(ExploreWhole, WithoutAProgramNothingHappens) {
  SearchResult result;
  finish_best(result, load_machine("rda"), 1);
  EXPECT_FALSE(result.program);
  EXPECT_TRUE(result.notes.empty());
}

}  // namespace
}  // namespace fuseflow
