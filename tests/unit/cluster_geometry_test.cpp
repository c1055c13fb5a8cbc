#include <gtest/gtest.h>

#include "cluster/chain/schedule.h"
#include "graph/tiles.h"

namespace fuseflow::cluster {
namespace {

// The two published examples: tiles m 128, k0 128, n 128, l 128; 16 blocks each. The reduction step
// of the second product is n / reduce.
/// Both halves of the exchange.
int64_t exchanged(const Communication& sent) {
  return sent.exchange_partial + sent.exchange_gather;
}

TEST(ClusterGeometry, FirstPublishedExample) {
  const ClusterShape shape{2, 4, 2, 4};
  EXPECT_EQ(shape.cores(), 16);
  EXPECT_EQ(shape.shuffle(), 2);
  EXPECT_EQ(shape.reduce(), 2);
  EXPECT_EQ(128 / shape.reduce(), 64);
}

TEST(ClusterGeometry, SecondPublishedExample) {
  const ClusterShape shape{2, 4, 2, 8};
  EXPECT_EQ(shape.cores(), 16);
  EXPECT_EQ(shape.shuffle(), 4);
  EXPECT_EQ(shape.reduce(), 1);
  EXPECT_EQ(128 / shape.reduce(), 128);
}

TEST(ClusterGeometry, BothProductsUseTheSameBlocks) {
  for (const ClusterShape& shape : all_cluster_shapes()) {
    if (shape.regular()) {
      EXPECT_EQ(shape.m * shape.l * shape.reduce(), shape.cores());
      EXPECT_EQ(shape.shuffle() * shape.reduce(), shape.n);
    }
  }
}

TEST(ClusterGeometry, ShapesLeftByRuleTwo) {
  int allowed = 0;
  for (const ClusterShape& shape : all_cluster_shapes()) {
    allowed += shape_allowed(shape) ? 1 : 0;
  }
  EXPECT_EQ(all_cluster_shapes().size(), 625U);
  EXPECT_EQ(allowed, 135);
}

// C and E blocks of 128 x 128 = 16384 elements on (2,4,2,4):
// exchange 2 * 1/2 * 16384 = 16384, shuffle (2-1) * 16384, reduce_scatter 1/2 * 16384 = 8192.
TEST(ClusterGeometry, VolumesOfAPlainChain) {
  const Communication sent = communicate({2, 4, 2, 4}, GatedWay::none, 16384, 16384);
  EXPECT_EQ(exchanged(sent), 16384);
  EXPECT_EQ(sent.shuffle, 16384);
  EXPECT_EQ(sent.reduce_scatter, 8192);
  const Communication wide = communicate({2, 4, 2, 8}, GatedWay::none, 16384, 16384);
  EXPECT_EQ(exchanged(wide), 16384);
  EXPECT_EQ(wide.shuffle, 3 * 16384);
  EXPECT_EQ(wide.reduce_scatter, 0);
}

// Split branches multiply over the links: half of the other branch's product to each side, half of
// the result back. One after the other with cls_k = 1 needs no link at all; with cls_k = 2 both
// branches are summed (2 * 1/2 |C|) before one gather (1/2 |C|).
TEST(ClusterGeometry, VolumesOfBothGatedWays) {
  EXPECT_EQ(exchanged(communicate({1, 2, 2, 2}, GatedWay::split, 4096, 4096)), 4096);
  EXPECT_EQ(exchanged(communicate({1, 2, 1, 1}, GatedWay::sequential, 4096, 4096)), 0);
  const Communication both = communicate({1, 2, 2, 2}, GatedWay::sequential, 4096, 4096);
  EXPECT_EQ(both.exchange_partial, 4096);
  EXPECT_EQ(both.exchange_gather, 2048);
}

// C and E blocks of 16 x 16 in f16: f32 sums of C for each of two blocks, or of E, or a slice of C.
TEST(ClusterGeometry, RoomForWhatOtherBlocksSend) {
  EXPECT_EQ(receive_room({1, 1, 1, 1}, 256, 256, 2, false, kReceiveSlots), 0);
  EXPECT_EQ(receive_room({1, 2, 2, 4}, 256, 256, 2, false, kReceiveSlots),
            1024);  // half of C in f32, C in f16
  EXPECT_EQ(receive_room({1, 2, 1, 2}, 256, 1024, 2, false, kReceiveSlots),
            1024);  // shuffle 2, no reduction
  EXPECT_EQ(receive_room({1, 2, 1, 1}, 256, 1024, 2, false, kReceiveSlots),
            4096);  // half of E in f32
  EXPECT_EQ(receive_room({1, 4, 1, 4}, 256, 1024, 2, true, kReceiveSlots),
            1536);  // three slices that stay
  EXPECT_EQ(receive_room({1, 4, 1, 2}, 256, 1024, 2, true, kReceiveSlots),
            4608);  // one, and half of E in f32
}

TEST(ClusterGeometry, ClustersThatShareARangeOfEAddInMemory) {
  ChainSteps steps;
  steps.set(Dim::l, 3, false);  // each has a range of its own
  EXPECT_EQ(steps.sharers(), 1);
  steps.set(Dim::n, 8, false);
  steps.set(Dim::k, 2, true);
  EXPECT_EQ(steps.sharers(), 8);
  EXPECT_EQ(steps.clusters, 24);
}

}  // namespace
}  // namespace fuseflow::cluster
