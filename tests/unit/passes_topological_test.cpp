// Counting topological sorts against listing them, and against known numbers.
#include <gtest/gtest.h>

#include "ir/attribution.h"
#include "passes/topological.h"

namespace fuseflow {
namespace {

PartialOrder make(size_t n, const std::vector<std::pair<int, int>>& edges) {
  PartialOrder order;
  order.before.resize(n);
  for (const auto& [a, b] : edges) order.before[b].push_back(a);
  return order;
}

uint64_t listed(const PartialOrder& order) {
  uint64_t count = 0;
  for_each_sort(order, [&](const std::vector<int>& sort) {
    std::vector<int> rank(sort.size());
    for (size_t i = 0; i < sort.size(); ++i) rank[sort[i]] = static_cast<int>(i);
    for (size_t i = 0; i < order.size(); ++i) {
      for (const int b : order.before[i]) EXPECT_LT(rank[b], rank[i]);
    }
    ++count;
    return true;
  });
  return count;
}

TEST(Topological, KnownNumbers) {
  EXPECT_EQ(count_sorts(make(0, {})).number, "1");
  EXPECT_EQ(count_sorts(make(10, {})).number, "3628800");
  EXPECT_EQ(count_sorts(make(3, {{0, 1}, {1, 2}})).number, "1");
  EXPECT_EQ(count_sorts(make(4, {{0, 2}, {1, 2}, {1, 3}})).number, "5");  // the poset N
  EXPECT_EQ(count_sorts(make(4, {{0, 1}, {2, 3}})).number, "6");          // two chains
}

TEST(Topological, CountsWhatIsListed) {
  uint64_t state = 1;
  for (int round = 0; round < 60; ++round) {
    const size_t n = 1 + round % 7;
    std::vector<std::pair<int, int>> edges;
    for (size_t a = 0; a < n; ++a) {
      for (size_t b = a + 1; b < n; ++b) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        if ((state >> 60) < 5) edges.emplace_back(static_cast<int>(a), static_cast<int>(b));
      }
    }
    const PartialOrder order = make(n, edges);
    EXPECT_EQ(count_sorts(order).number, std::to_string(listed(order)));
  }
}

TEST(Topological, SaysWhenItStops) {
  const SortCount large = count_sorts(make(60, {}));  // 60! > 2^128, found without visiting sets
  EXPECT_FALSE(large.exact);
  EXPECT_EQ(large.number, "340282366920938463463374607431768211455");
  std::vector<std::pair<int, int>> fan;
  for (int i = 1; i < 40; ++i) fan.emplace_back(0, i);
  const SortCount stopped = count_sorts(make(40, fan), 1000);
  EXPECT_FALSE(stopped.exact);
  EXPECT_FALSE(stopped.stopped.empty());
}

TEST(Topological, ListingIsLazy) {
  int taken = 0;
  EXPECT_FALSE(for_each_sort(make(200, {}), [&](const std::vector<int>&) { return ++taken < 5; }));
  EXPECT_EQ(taken, 5);
}

TEST(Layers, ModulePaths) {
  using Path = std::vector<std::string>;
  EXPECT_EQ(module_path("/blocks.0/attn/MatMul_output_0"), (Path{"blocks.0", "attn"}));
  EXPECT_EQ(module_path("blocks.0.attn.weight"), (Path{"blocks.0", "attn"}));
  EXPECT_EQ(module_path("/Relu_output_0"), Path{});
  EXPECT_EQ(module_path("y"), Path{});
  EXPECT_EQ(module_path(""), Path{});
}

}  // namespace
}  // namespace fuseflow
