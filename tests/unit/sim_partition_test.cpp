// How threads divide the nodes among themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <numeric>

#include "sim/threads/partition.h"

namespace fuseflow::engine {
namespace {

/// Nodes of equal work in a row, each giving to the next.
Workload chain(int nodes, double passing) {
  Workload workload;
  workload.node.assign(static_cast<size_t>(nodes), 10);
  for (int n = 0; n + 1 < nodes; ++n) workload.nets.push_back({n, {n + 1}, passing, passing});
  return workload;
}

TEST(Partition, LoadsCountWhatPasses) {
  Workload workload;
  workload.node = {1, 2, 4, 8};
  workload.nets = {{0, {1, 2, 3}, 100, 1000}, {2, {3}, 10000, 20000}};
  EXPECT_EQ(loads(workload, {0, 0, 0, 0}, 2), (std::vector<double>{15, 0}));
  // The giver pays once, each part that takes once.
  EXPECT_EQ(loads(workload, {0, 1, 1, 1}, 2), (std::vector<double>{101, 1014}));
  EXPECT_EQ(loads(workload, {0, 1, 0, 2}, 3), (std::vector<double>{10105, 1002, 21008}));
}

TEST(Partition, OnePartHoldsAll) {
  EXPECT_EQ(divide(chain(5, 1), 1), std::vector<int>(5, 0));
}

TEST(Partition, CutsAChainOnce) {
  const Workload workload = chain(10, 1);
  const std::vector<int> part = divide(workload, 2);
  EXPECT_EQ(loads(workload, part, 2), (std::vector<double>{51, 51}));
}

TEST(Partition, WorkThatCannotBeSharedIsNot) {
  const std::vector<int> part = divide(chain(6, 1000), 2);
  EXPECT_EQ(part, std::vector<int>(6, part[0]));
}

TEST(Partition, FindsGroupsThatAreNotInOrder) {
  // Even nodes pass much to one another, so do odd ones; little passes between them.
  Workload workload;
  workload.node.assign(12, 10);
  for (int n = 0; n + 2 < 12; ++n) workload.nets.push_back({n, {n + 2}, 50, 50});
  workload.nets.push_back({0, {1}, 1, 1});
  const std::vector<int> part = divide(workload, 2);
  for (size_t n = 2; n < part.size(); ++n) EXPECT_EQ(part[n], part[n - 2]) << n;
  EXPECT_NE(part[0], part[1]);
}

TEST(Partition, MorePartsThanNodesAndNoWorkAtAll) {
  Workload workload = chain(3, 0);
  for (const int parts : {3, 8}) {
    const std::vector<int> part = divide(workload, parts);
    const std::vector<double> load = loads(workload, part, parts);
    EXPECT_EQ(*std::max_element(load.begin(), load.end()), 10) << parts;
  }
  workload.node.assign(3, 0);
  for (const int p : divide(workload, 2)) EXPECT_TRUE(p == 0 || p == 1);
}

// One node that gives to all, and chains behind it: thousands of nodes are divided in no time worth
// mentioning (this took minutes when every trial of a move went through all takers of a net).
TEST(Partition, TimeGrowsWithTheGraph) {
  constexpr int kNodes = 20'000;
  Workload workload = chain(kNodes, 1);
  Workload::Net wide{0, {}, 1, 1};
  for (int n = 1; n < kNodes; n += 2) wide.to.push_back(n);
  workload.nets.push_back(wide);
  const std::clock_t start = std::clock();
  const std::vector<int> part = divide(workload, 2);
  EXPECT_LT(std::clock() - start, 20 * CLOCKS_PER_SEC);
  const std::vector<double> load = loads(workload, part, 2);
  EXPECT_NEAR(load[0], load[1], 0.01 * load[0]);
}

// Of so many nodes that each move is the best of some of them.
TEST(Partition, MovesNodesOfALargeGraph) {
  Workload workload = chain(100'000, 0);
  for (size_t n = 0; n < workload.node.size(); n += 1000) workload.node[n] = 50'000;
  // Wherever the row is cut, one of the stretches has a fifth more than the other.
  workload.node[50'000] = 600'000;
  const std::vector<int> part = divide(workload, 2);
  const std::vector<double> load = loads(workload, part, 2);
  EXPECT_NEAR(load[0], load[1], 0.05 * load[0]);
}

}  // namespace
}  // namespace fuseflow::engine
