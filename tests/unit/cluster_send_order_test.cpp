// The order in which a core sends: by what sends wait for, not by where they are written.
#include "sim/tiles/send_order.h"

#include <gtest/gtest.h>

namespace fuseflow {
namespace {

using Ops = std::vector<int32_t>;

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
  const SendOrder order(ops);
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
  EXPECT_EQ(SendOrder(ops).sends, (Ops{3, 2}));
}

}  // namespace
}  // namespace fuseflow
