// Multicast: which loads come together, on paper; what memory gives against the closed forms, over
// shapes and ways; bounds; products of pairs of cores.
#include <gtest/gtest.h>

#include "cluster/chain/baseline.h"
#include "cluster/chain/bound.h"
#include "cluster/chain/elementwise_kernel.h"
#include "cluster/chain/measure.h"
#include "cluster/chain/product_kernel.h"
#include "cluster/report/evaluate.h"
#include "cluster_measure.h"
#include "machine/load.h"
#include "sim/tiles/multicast.h"

namespace fuseflow::cluster {
namespace {

Machine with_multicast(Machine machine) {
  machine.links.multicast = true;
  return machine;
}

Machine without_multicast() {
  Machine machine = load_machine("h100", {});
  machine.links.multicast = false;
  return machine;
}

TileOp load(int core, int32_t node, int32_t row) {
  TileOp op;
  op.core = static_cast<uint8_t>(core);
  op.node = node;
  op.row = row;
  return op;
}

TEST(Multicast, LoadsOfOneTileByTheirTurns) {
  TileOps ops;
  ops.cores = 2;
  // Core 0 loads tile 0, then 16, then 0 again; core 1 loads 0 twice and a tile of another tensor.
  ops.nodes = {load(0, 0, 0), load(0, 0, 16), load(0, 0, 0),
               load(1, 0, 0), load(1, 1, 16), load(1, 0, 0)};
  const SharedLoads shared = shared_loads(ops, Sharers::of_multicast);
  EXPECT_EQ(shared.members, (std::vector<std::vector<int32_t>>{{0, 3}, {2, 5}}));
  EXPECT_EQ(shared.group, (std::vector<int32_t>{0, -1, 1, 0, -1, 1}));
  EXPECT_TRUE(shared_loads(ops, Sharers::nobody).group.empty());
  for (TileOp& op : ops.nodes) op.alone = op.node == 0;
  EXPECT_TRUE(shared_loads(ops, Sharers::of_multicast).members.empty());
  EXPECT_EQ(shared_loads(ops, Sharers::all).members, shared.members);
}

/// Two cores along m load the same B tile of 1024 bytes: an L2 of one byte a cycle gives it once,
/// and the D tile. X is 512 bytes a core, W 1024.
TEST(Multicast, AnL2GivesATileOnceOnPaper) {
  Machine slow = without_multicast();
  slow.l2.bytes_per_cycle = 1;
  const auto asked = [](const Measured& m) { return m.bytes.l2_read; };
  const Chain chain = gemm_chain(32, 32, 16, 16, Activation::none);
  Plan plan;
  plan.schedule = LoopSchedule::parse("MLK");
  plan.shape = {2, 1, 1, 1};
  plan.tile.value = {16, 32, 16, 16};
  const auto run = [&](const Machine& machine) {
    return measure_plan(chain, plan, analyze(chain, plan, machine), machine);
  };
  const Measured apart = run(slow), together = run(with_multicast(slow));
  EXPECT_EQ(asked(apart), 2 * (512 + 1024 + 1024));
  EXPECT_EQ(asked(together), 2 * 512 + 1024 + 1024);
  EXPECT_EQ(apart.bytes.global_read, together.bytes.global_read);
  EXPECT_GT(apart.cycles, together.cycles + 1024);  // 2048 of the L2, of which stores hide a part
}

/// Two cores along m add the same bias of 32 columns: threads read it, on each of them.
TEST(Multicast, WhatElementwiseWorkTakesEachCoreReads) {
  const Machine machine = with_multicast(without_multicast());
  Chain chain = gemm_chain(32, 32, 16, 16, Activation::none);
  Plan plan;
  plan.schedule = LoopSchedule::parse("MLK");
  plan.shape = {2, 1, 1, 1};
  plan.tile.value = {16, 32, 16, 16};
  const auto read = [&] {
    return measure_plan(chain, plan, analyze(chain, plan, machine), machine).bytes.l2_read;
  };
  const int64_t without = read();
  chain.bias0 = 1;
  EXPECT_EQ(read() - without, 2 * 32 * 2);
}

const std::vector<ClusterShape> kShapes = {{1, 1, 1, 1}, {1, 2, 1, 2}, {2, 1, 2, 2}, {2, 2, 1, 1},
                                           {1, 2, 2, 2}, {2, 4, 2, 8}, {4, 2, 1, 2}, {2, 2, 2, 2}};

/// What memory gives is what the cores load, less what multicast delivers.
void expect_bytes(const Chain& chain, const Plan& plan, Machine machine) {
  const Analysis analysis = analyze(chain, plan, machine);
  if (obstacle_of(chain, plan, analysis.steps) != Obstacle::none) return;
  LevelBytes expected = analysis.total;
  expected.global_read -= analysis.shared;
  LevelBytes cached = measure_plan(chain, plan, analysis, machine).bytes;
  EXPECT_EQ(cached.l2_read, expected.global_read) << describe(plan);
  machine.l2.capacity_bytes = 0;
  expected.global_read += analysis.added;  // memory reads what is added to
  EXPECT_EQ(measure_plan(chain, plan, analysis, machine).bytes, expected) << describe(plan);
  EXPECT_TRUE(check_plan_values(chain, plan, machine).passed) << describe(plan);
}

TEST(Multicast, BytesOfEveryShapeAndWay) {
  const Machine machine = with_multicast(without_multicast());
  int64_t shared = 0;
  for (const ClusterShape& shape : kShapes) {
    for (const GatedWay way : {GatedWay::none, GatedWay::split, GatedWay::sequential}) {
      for (const char* const order : {"MLK", "MNLK", "MLNK", "LNK"}) {
        Plan plan;
        plan.schedule = LoopSchedule::parse(order);
        plan.shape = shape;
        plan.way = way;
        plan.tile.value = {16, 16, 16, 16};
        const bool split = way == GatedWay::split;
        constexpr int64_t kTwoTiles = 32;
        Chain chain =
            gemm_chain(kTwoTiles * shape.m, kTwoTiles * shape.n, kTwoTiles * (split ? 1 : shape.k),
                       kTwoTiles * shape.l, Activation::relu);
        if (way != GatedWay::none) chain.kind = ChainKind::gated;
        chain.bias0 = way != GatedWay::none ? 2 : 1;
        chain.bias1 = chain.residual = true;
        expect_bytes(chain, plan, machine);
        const int64_t all = analyze(chain, plan, machine).shared;
        shared += all;
        chain.by_threads = {true, false, shape.m > 2};
        expect_bytes(chain, plan, machine);
        EXPECT_LE(analyze(chain, plan, machine).shared, all);
      }
    }
  }
  EXPECT_GT(shared, 1 << 20);
}

TEST(Multicast, BoundsHold) {
  Machine slow = with_multicast(without_multicast());
  slow.l2.bytes_per_cycle = 100;
  Machine bare = slow;
  bare.l2.capacity_bytes = 0;
  Machine far = with_multicast(without_multicast());
  far.links.barrier_cycles = {0, 300, 300, 300, 300};
  std::vector<Chain> chains = {gemm_chain(128, 256, 128, 64, Activation::relu),
                               gated_ffn(64, 128, 128)};
  chains[0].bias0 = 1;
  chains[1].bias1 = true;
  for (const Machine& machine : {slow, bare, far}) {
    for (const Chain& chain : chains) {
      for (const RankedPlan& plan : random_plans(chain, machine, {30, 11, Holding::linked})) {
        const Measured measured = measure_plan(chain, plan.plan, plan.analysis, machine);
        ASSERT_LE(least_cycles(plan.analysis, plan.plan, machine), measured.cycles)
            << chain.name << " " << describe(plan.plan);
      }
    }
  }
}

TEST(Multicast, ProductsOfPairsOfCores) {
  Machine slow = without_multicast();
  slow.core.count = 8;
  slow.links.most_cores = {};
  slow.l2.bytes_per_cycle = 40;
  const Machine pairs = with_multicast(slow);
  for (const ProductSize& size :
       {ProductSize{64, 128, 256, true, false, ProductBytes::of(2), false},
        ProductSize{128, 64, 64, false, true, ProductBytes::of(4), true}}) {
    const MeasuredProduct best = find_product(size, pairs, {});
    EXPECT_EQ(best.measured.cycles, best_product_of_all(size, pairs).cycles);
    EXPECT_LE(best.measured.cycles, best_product(size, slow, {}).cycles);
  }
  const MeasuredProduct best = find_product({256, 256, 256}, pairs, {});
  EXPECT_EQ(best.plan.cores(), 2) << "the L2 binds, and pairs ask less of it";
}

}  // namespace
}  // namespace fuseflow::cluster
