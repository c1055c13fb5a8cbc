// The loops of a graph of tiles, and the order in which its products sum.
#include <gtest/gtest.h>

#include "cluster/chain/lower_plan.h"
#include "graph/tile_loop.h"
#include "machine/load.h"
#include "sim/tiles/sums.h"

namespace fuseflow::cluster {
namespace {

constexpr int kN = index_of(Dim::n), kK = index_of(Dim::k), kL = index_of(Dim::l);

/// Two blocks share K, pairs of blocks pass C round, two pairs sum E: tiles 2 x 16 x 8 x 16.
Graph linked_chain(const char* loops) {
  const Machine machine = load_machine("h100", {});
  const Chain chain = gemm_chain(32, 256, 128, 256, Activation::relu);
  Plan plan;
  plan.schedule = LoopSchedule::parse(loops);
  plan.shape = {1, 4, 2, 4};
  plan.tile.value = {16, 16, 16, 16};
  return plan_graph(chain, plan, analyze(chain, plan, machine));
}

TEST(TileSums, LoopsOfAChainAreThoseOfItsTwoProducts) {
  const Graph graph = linked_chain("LNK");
  const TileLoops loops = tile_loops(graph);
  EXPECT_EQ(loops.outer, std::vector<int>{index_of(Dim::m)});
  ASSERT_EQ(loops.loops.size(), 2U);
  EXPECT_EQ(loops.loops[0].index, kN);
  EXPECT_EQ(loops.loops[1].index, kL);
  const auto kind = [&](NodeId n) { return graph.nodes[static_cast<size_t>(n)].kind; };
  EXPECT_EQ(kind(loops.loops[0].nodes.front()), NodeKind::tile_multiply);
  EXPECT_EQ(kind(loops.loops[0].nodes.back()), NodeKind::shuffle);
  EXPECT_EQ(kind(loops.loops[1].nodes.front()), NodeKind::tile_multiply);
  EXPECT_EQ(kind(loops.loops[1].nodes.back()), NodeKind::tile_store);
}

TEST(TileSums, BlocksThatShareKTakeTurns) {
  const Graph graph = linked_chain("LNK");
  const TileSums sums(graph);
  EXPECT_EQ(sums.clusters(), 1);
  EXPECT_EQ(sums.parts(kK, {0, 0, 0, 0}), (SumParts{{0, 2, 4, 6}, {1, 3, 5, 7}}));
}

/// A block begins with its own slice; each pair has two of the four slices of a step.
TEST(TileSums, SlicesGoRound) {
  const Graph graph = linked_chain("LNK");
  const TileSums sums(graph);
  EXPECT_EQ(sums.parts(kN, {0, 0, 0, 5}),
            (SumParts{{0, 1, 4, 5, 8, 9, 12, 13}, {2, 3, 6, 7, 10, 11, 14, 15}}));
  EXPECT_EQ(sums.parts(kN, {0, 0, 0, 2}),
            (SumParts{{1, 0, 5, 4, 9, 8, 13, 12}, {3, 2, 7, 6, 11, 10, 15, 14}}));
}

TEST(TileSums, ClustersAddTheirPartsOfN) {
  const Graph graph = linked_chain("MLK");
  TileSums sums(graph);
  EXPECT_EQ(sums.clusters(), 4);
  sums.begin(2);
  EXPECT_EQ(sums.walked(kN), (std::vector<int64_t>{8, 9, 10, 11}));
  EXPECT_EQ(sums.parts(kN, {0, 0, 0, 0}), (SumParts{{8, 9}, {10, 11}}));
}

}  // namespace
}  // namespace fuseflow::cluster
