// The order in which a core sends: by what sends wait for, not by where they are written.
#include "sim/tiles/send_order.h"

#include <gtest/gtest.h>

namespace fuseflow {
namespace {

using Ops = std::vector<int32_t>;

SendOrder order_of(const TileOps& ops, const SharedLoads& shared = {}) {
  return {ops, Successors(ops), shared};
}

/// Two products, the sums of each sent (1, 3), then a slice for the next step of L: there is room
/// for it at once (4), or when another core has read the slice before (5).
TEST(SendOrder, ASliceForALaterStepIsSentWhenThereIsRoom) {
  TileOps ops;
  ops.cores = 2;
  const int32_t product = ops.add(op_of(TileOpKind::multiply, 0, 0), {}, {});
  ops.add(op_of(TileOpKind::send, 1, 0), {product}, {});
  const int32_t of_other = ops.add(op_of(TileOpKind::multiply, 0, 1), {}, {});
  ops.add(op_of(TileOpKind::send, 1, 1), {of_other}, {});
  ops.add(op_of(TileOpKind::send, 2, 0), {}, {});
  ops.add(op_of(TileOpKind::send, 2, 0), {}, {of_other});
  const SendOrder order = order_of(ops);
  EXPECT_EQ(order.sends, (Ops{4, 1, 5, 3}));
  EXPECT_EQ(order.place, (Ops{kNone, 1, kNone, 3, 0, 2}));
  EXPECT_EQ(order.first, (std::vector<bool>{true, false, false, true}));
  EXPECT_EQ(order.next(0), 1);
  EXPECT_EQ(order.next(2), kNone) << "the next one is another core's";
  EXPECT_EQ(order.next(3), kNone);
}

/// Sums of two products are behind a tile that waits for one, wherever they are written.
TEST(SendOrder, TheLongestWayCounts) {
  TileOps ops;
  const int32_t first = ops.add(op_of(TileOpKind::multiply, 0), {}, {});
  const int32_t second = ops.add(op_of(TileOpKind::multiply, 0), {first}, {});
  ops.add(op_of(TileOpKind::send, 1), {second}, {first});
  ops.add(op_of(TileOpKind::send, 1), {first}, {});
  EXPECT_EQ(order_of(ops).sends, (Ops{3, 2}));
}

/// Core 0 and core 1 load a tile together, which core 1 can only do after a send of core 0: what
/// core 0 sends once it has the tile stands behind that send, although on core 0 little is before
/// it. Else both would wait for ever.
TEST(SendOrder, LoadsThatComeTogetherWaitForAllThatIsBeforeOneOfThem) {
  TileOps ops;
  ops.cores = 2;
  const int32_t own = ops.add(op_of(TileOpKind::load, 1, 0), {}, {});
  ops.add(op_of(TileOpKind::send, 2, 0), {own}, {});
  const int32_t first = ops.add(op_of(TileOpKind::multiply, 0, 0), {}, {});
  const int32_t second = ops.add(op_of(TileOpKind::multiply, 0, 0), {first}, {});
  const int32_t sent = ops.add(op_of(TileOpKind::send, 3, 0), {second}, {});
  const int32_t other = ops.add(op_of(TileOpKind::load, 1, 1), {}, {sent});
  EXPECT_EQ(order_of(ops).sends, (Ops{1, 4})) << "loads that each core asks for itself";
  const SharedLoads together{{0, -1, -1, -1, -1, 0}, {{own, other}}};
  EXPECT_EQ(order_of(ops, together).sends, (Ops{4, 1}));
}

}  // namespace
}  // namespace fuseflow
