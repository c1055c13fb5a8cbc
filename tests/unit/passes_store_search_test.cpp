// Sets of placements: which intermediates are alike, which are tried first, and what the search
// stores and drops. Judged by expected stream lengths, so that no estimate is needed here (golden
// cases fuse/auto_sets*).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "ir/parse.h"
#include "passes/alike.h"
#include "passes/near_limit.h"
#include "passes/store_search.h"

namespace fuseflow {
namespace {

constexpr double kEffort = 60'000;  ///< enough for what is tested

/// Attention of one head over n rows; `given`: placements of the region.
Program attention(const std::string& given) {
  return parse_program({"test", R"(fuseflow 1
program "attention"
input %x: f32[24, 8] dense,dense facts(finite)
input %wq: f32[8, 8] dense,dense facts(finite)
input %wk: f32[8, 8] dense,dense facts(finite)
input %wv: f32[8, 8] dense,dense facts(finite)
temp %q: f32[24, 8] dense,dense facts(finite)
temp %k: f32[24, 8] dense,dense facts(finite)
temp %v: f32[24, 8] dense,dense facts(finite)
temp %s: f32[24, 24] dense,dense facts(finite)
temp %m: f32[24] dense facts(finite)
temp %e: f32[24, 24] dense,dense facts(finite, nonnegative)
temp %d: f32[24] dense facts(finite, nonnegative, nonzero)
result %y: f32[24, 8] dense,dense
region @y {
)" + given + R"(
  %q[i, l] = sum(k) %x[i, k] * %wq[k, l]
  %k[i, l] = sum(k) %x[i, k] * %wk[k, l]
  %v[i, l] = sum(k) %x[i, k] * %wv[k, l]
  %s[i, j] = sum(l) %q[i, l] * %k[j, l]
  %m[i] = max(j) %s[i, j]
  %e[i, j] = exp(%s[i, j] - %m[i])
  %d[i] = sum(j) %e[i, j]
  %y[i, l] = sum(j) (%e[i, j] / %d[i]) * %v[j, l]
}
)"});
}

std::set<std::string> names(const Program& program, const TensorGroup& group) {
  std::set<std::string> result;
  for (const TensorId t : group) result.insert(program.tensors[static_cast<size_t>(t)].name);
  return result;
}

std::set<std::string> stored(const Program& program) {
  std::set<std::string> result;
  for (const UsePlacement& use : program.regions[0].schedule.placements) {
    result.insert(program.tensors[static_cast<size_t>(use.tensor)].name);
  }
  return result;
}

TEST(Alike, CoarsestFirst) {
  const Program program = attention("");
  TensorGroup all;
  for (const Statement& s : program.regions[0].statements) all.push_back(s.result);
  const auto levels = alike_tensors(program, program.regions[0], all);
  ASSERT_GE(levels.size(), 2U);
  using Names = std::set<std::string>;
  EXPECT_EQ(names(program, levels[0][0]), (Names{"q", "k", "v"}));  // the same form
  EXPECT_EQ(names(program, levels[1][0]), (Names{"q"}));            // used otherwise
  std::set<TensorGroup> seen;
  for (const auto& level : levels) {
    for (const TensorGroup& group : level) EXPECT_TRUE(seen.insert(group).second);
  }
  for (const TensorId t : all) EXPECT_TRUE(seen.contains({t}));
}

/// Storing one of the three alone gains nothing: the others are computed again all the same.
TEST(StoreSearch, EqualNestsMoveTogether) {
  PassLog log;
  Program program = attention("");
  ASSERT_TRUE(improve_stores(program, 0, Machine{}, nullptr, log, kEffort));
  for (const char* name : {"k", "v"}) EXPECT_TRUE(stored(program).contains(name)) << name;
  EXPECT_FALSE(log.lines().empty());
}

/// With queries, keys and values stored, the softmax streams: its own results need not be.
TEST(StoreSearch, WhatOthersMakeRedundantIsDropped) {
  PassLog log;
  Program program = attention(R"(
  place %q = scratchpad
  place %k = scratchpad
  place %v = scratchpad
  place %m = scratchpad
  place %d = scratchpad)");
  ASSERT_TRUE(improve_stores(program, 0, Machine{}, nullptr, log, kEffort));
  EXPECT_FALSE(stored(program).contains("m"));
  EXPECT_FALSE(stored(program).contains("d"));
  EXPECT_TRUE(stored(program).contains("k"));
}

/// Rewritten programs have their new tensors last, wherever their statements are.
TEST(StoreSearch, TensorsNeedNotBeInTheOrderOfStatements) {
  Program program = attention("");
  const TensorId q = find_tensor(program, "q"), v = find_tensor(program, "v");
  const auto exchanged = [&](TensorId t) { return t == q ? v : t == v ? q : t; };
  std::swap(program.tensors[static_cast<size_t>(q)], program.tensors[static_cast<size_t>(v)]);
  for (Statement& s : program.regions[0].statements) {
    s.result = exchanged(s.result);
    for (Expr& e : s.nodes) e.tensor = exchanged(e.tensor);
  }
  PassLog log, plain_log;
  Program plain = attention("");
  ASSERT_TRUE(improve_stores(plain, 0, Machine{}, nullptr, plain_log, kEffort));
  ASSERT_TRUE(improve_stores(program, 0, Machine{}, nullptr, log, kEffort));
  EXPECT_EQ(stored(program), stored(plain));
  EXPECT_EQ(log.lines(), plain_log.lines());
}

TEST(StoreSearch, NeverWorseThanGiven) {
  for (const char* given : {"", "place %k = scratchpad", "place %s = memory"}) {
    const StoreSearch found = search_stores(attention(given), 0, Machine{}, nullptr, kEffort);
    EXPECT_LE(found.cost.cycles, found.first.cycles) << given;
    EXPECT_FALSE(found.judged.empty());
  }
}

/// An order is the user's: what depends on it is not changed.
TEST(StoreSearch, KeepsAGivenOrder) {
  PassLog log;
  Program program = attention("  order i, j\n  place %k = scratchpad\n  place %v = scratchpad");
  EXPECT_FALSE(improve_stores(program, 0, Machine{}, nullptr, log, kEffort));
}

/// Orders exist in which every product of a chain is made anew in the loops of the next two. They
/// make few nodes, since equal ones are shared, but open as many loops as a Fibonacci number says:
/// without a bound on these the search of 40 products does not end.
TEST(StoreSearch, LongChainsOfProducts) {
  constexpr int kProducts = 40;
  std::string text = "fuseflow 1\nprogram \"chain\"\ninput %t0: f32[32, 32] dense,dense\n";
  std::string region = "region @all {\n";
  for (int k = 1; k <= kProducts; ++k) {
    const std::string n = std::to_string(k);
    text += "input %w" + n + ": f32[32, 32] dense,dense\n";
    text += (k == kProducts ? "result %t" : "temp %t") + n + ": f32[32, 32] dense,dense\n";
    region += fmt::format("  %t{0}[i, j] = sum(k) %t{1}[i, k] * %w{0}[k, j]\n", k, k - 1);
  }
  const Program program = parse_program({"test", text + region + "}\n"});
  const StoreSearch found = search_stores(program, 0, {}, nullptr, kEffort);
  EXPECT_LE(found.cost.cycles, found.first.cycles);
}

TEST(StoreSearch, EffortBoundsIt) {
  const Program program = attention("");
  const size_t all = search_stores(program, 0, Machine{}, nullptr, kEffort).judged.size();
  const size_t few = search_stores(program, 0, Machine{}, nullptr, 500).judged.size();
  EXPECT_LT(few, all);
  EXPECT_GE(few, 1U);
}

TEST(NearLimit, GroupsNearTheLimitComeFirst) {
  const Program program = attention("");
  const auto id = [&](const std::string& name) { return find_tensor(program, name); };
  std::vector<TensorGroup> groups{{id("q")}, {id("v")}, {id("m"), id("k")}, {id("e")}, {id("s")}};
  nearest_first(groups, program.regions[0], id("e"));
  // %s and %m make %e; %q makes %s; %v is used by what uses %e. Of equal ones the order stays.
  const std::vector<TensorGroup> expected{
      {id("e")}, {id("m"), id("k")}, {id("s")}, {id("q")}, {id("v")}};
  EXPECT_EQ(groups, expected);
}

}  // namespace
}  // namespace fuseflow
