// Plans lowered to graphs of tiles: their values against the reference, and the bytes that the
// simulator counts against the analyzer's formulas, over many shapes, schedules and spills.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "cluster/chain/measure.h"
#include "cluster/report/evaluate.h"
#include "cluster/report/plan_json.h"
#include "cluster_measure.h"
#include "machine/load.h"

namespace fuseflow::cluster {
namespace {

Machine machine() {
  return load_machine("h100", {"l2.capacity_bytes=0", "links.multicast=false"});
}

/// An L2 changes nothing but when loads and stores end and which of them reach memory.
void expect_l2(const Chain& chain, const Plan& plan, const Analysis& analysis, Machine on) {
  on.l2 = {1 << 15, 4000, 265};
  LevelBytes cached = measure_plan(chain, plan, analysis, on).bytes;
  EXPECT_LE(cached.global(), analysis.total.global() + analysis.added);
  EXPECT_EQ(std::exchange(cached.l2_add, 0), analysis.added);
  cached.global_read = std::exchange(cached.l2_read, 0);
  cached.global_write = std::exchange(cached.l2_write, 0);
  EXPECT_EQ(cached, analysis.total) << describe(plan);
}

void expect_plan(const Chain& chain, const Plan& plan, const Machine& on) {
  const Analysis analysis = analyze(chain, plan, on);
  ASSERT_EQ(obstacle_of(chain, plan, analysis.steps), Obstacle::none) << describe(plan);
  const Measured measured = measure_plan(chain, plan, analysis, on);
  LevelBytes moved = analysis.total;
  moved.global_read += analysis.added;  // memory reads what is added to
  EXPECT_EQ(measured.bytes, moved) << describe(plan);
  expect_l2(chain, plan, analysis, on);
  EXPECT_EQ(measured.flops, analysis.core_flops * analysis.steps.clusters * plan.shape.cores());
  EXPECT_GE(static_cast<double>(measured.cycles),
            static_cast<double>(analysis.core_flops) / on.core.matrix_flops_per_cycle);
  int64_t copied = 0;  // as --plan says
  for (const LinkCopy& copy : copies_of(analysis, plan)) copied += copy.bytes * copy.times;
  EXPECT_EQ(copied * analysis.steps.clusters * plan.shape.cores(), analysis.total.link);
  EXPECT_TRUE(check_plan_values(chain, plan, on).passed) << describe(plan);
}

const std::vector<ClusterShape> kTileShapes = {{1, 1, 1, 1}, {1, 2, 1, 1}, {1, 2, 1, 2},
                                               {2, 1, 2, 2}, {1, 2, 2, 2}, {1, 4, 2, 4},
                                               {2, 4, 2, 8}, {1, 4, 1, 2}, {1, 1, 4, 4}};

/// Extents that give every dimension two or four steps.
Chain sized(const Plan& plan, bool gated, Activation activation) {
  const bool split = plan.way == GatedWay::split;
  constexpr int64_t kSize = 32;
  Chain chain = gemm_chain(kSize * plan.shape.m, 2 * kSize * plan.shape.n,
                           kSize * (split ? 1 : plan.shape.k), kSize * plan.shape.l, activation);
  if (gated) {
    chain.kind = ChainKind::gated;
  }
  return chain;
}

Plan plan_of(const LoopSchedule& schedule, const ClusterShape& shape, GatedWay way) {
  Plan plan;
  plan.schedule = schedule;
  plan.shape = shape;
  plan.way = way;
  plan.tile.value = {16, 16, 16, 16};
  return plan;
}

/// K spatial needs a tile that covers it.
void cover_k(const Chain& chain, Plan& plan) {
  if (!plan.schedule.temporal(Dim::k)) {
    plan.tile[Dim::k] = chain.size[Dim::k] / (plan.way == GatedWay::split ? 1 : plan.shape.k);
  }
}

TEST(TileGraphs, EveryScheduleAndShapeOfAPlainChain) {
  for (const LoopSchedule& schedule : all_schedules()) {
    if (!accumulation_innermost(schedule)) {
      continue;
    }
    for (const ClusterShape& shape : kTileShapes) {
      Plan plan = plan_of(schedule, shape, GatedWay::none);
      const Chain chain = sized(plan, false, Activation::relu);
      cover_k(chain, plan);
      expect_plan(chain, plan, machine());
    }
  }
}

TEST(TileGraphs, GatedChainsBothWaysWithBiasAndResidual) {
  for (const LoopSchedule& schedule : pruned_schedules()) {
    for (const ClusterShape& shape : kTileShapes) {
      for (const GatedWay way : {GatedWay::split, GatedWay::sequential}) {
        if (way == GatedWay::split && shape.k != 2) {
          continue;
        }
        Plan plan = plan_of(schedule, shape, way);
        Chain chain = sized(plan, true, Activation::silu);
        chain.bias0 = 2;
        chain.bias1 = chain.residual = true;
        cover_k(chain, plan);
        expect_plan(chain, plan, machine());
      }
    }
  }
}

// What is more than sums needs all of E in one cluster.
TEST(TileGraphs, AnActivationAfterTheSecondProduct) {
  int run = 0, spread = 0;
  for (const LoopSchedule& schedule : pruned_schedules()) {
    for (const ClusterShape& shape : kTileShapes) {
      Plan plan = plan_of(schedule, shape, GatedWay::none);
      Chain chain = sized(plan, false, Activation::relu);
      chain.bias1 = chain.residual = 2;
      chain.last_activation = Activation::gelu;
      cover_k(chain, plan);
      const ChainSteps steps = steps_of(chain, plan);
      const bool shared = steps.steps[Dim::n] > steps.temporal[Dim::n];
      EXPECT_EQ(obstacle_of(chain, plan, steps) == Obstacle::accumulation, shared);
      ++(shared ? spread : run);
      if (!shared) expect_plan(chain, plan, machine());
    }
  }
  EXPECT_GT(run, 20);
  EXPECT_GT(spread, 20);
}

// Weights of one byte, vectors and result of four beside operands of two; a result of eight, which
// clusters add to in its own type: the closed forms charge each tensor its own.
TEST(TileGraphs, TensorsOfOtherElementSizes) {
  const ElementBytes mixed{
      .a = 2, .b = 1, .d = 2, .e = 4, .c = 2, .bias0 = 4, .bias1 = 4, .residual = 1};
  const ElementBytes wide{
      .a = 1, .b = 2, .d = 1, .e = 8, .c = 4, .bias0 = 2, .bias1 = 1, .residual = 8};
  EXPECT_EQ(mixed.work(), 2);
  EXPECT_EQ(wide.work(), 4);
  for (const LoopSchedule& schedule : pruned_schedules()) {
    for (const ClusterShape& shape : kTileShapes) {
      for (const GatedWay way : {GatedWay::none, GatedWay::split, GatedWay::sequential}) {
        if (way == GatedWay::split && shape.k != 2) continue;
        Plan plan = plan_of(schedule, shape, way);
        Chain chain = sized(plan, way != GatedWay::none, Activation::silu);
        chain.bias0 = way == GatedWay::none ? 1 : 2;
        chain.bias1 = chain.residual = true;
        chain.bytes = way == GatedWay::sequential ? wide : mixed;
        cover_k(chain, plan);
        expect_plan(chain, plan, machine());
      }
    }
  }
}

// Little memory: C and partial E spread over registers, scratchpad, peers and global memory.
TEST(TileGraphs, SpillsAtEveryLevelAreCountedAndKeepTheValues) {
  HeldBytes c_seen, e_seen;
  for (const char* loops : {"LNK", "NLK", "LMK", "MLK", "LNM", "NML", "NLM", "LMN"}) {
    for (const ClusterShape& shape : kTileShapes) {
      Plan plan = plan_of(LoopSchedule::parse(loops), shape, GatedWay::none);
      Chain chain = sized(plan, false, Activation::relu);
      chain.bias0 = 1;
      chain.residual = true;
      cover_k(chain, plan);
      for (const int64_t scratchpad : {9000, 3700}) {
        Machine small = machine();
        small.core.register_bytes = 2048 + 300;
        small.core.scratchpad_bytes = scratchpad;
        expect_plan(chain, plan, small);
        const Capacity held = capacity_of(chain, plan, steps_of(chain, plan), small);
        c_seen.scratchpad += held.c.scratchpad;
        c_seen.links += held.c.links;
        c_seen.global += held.c.global;
        e_seen.scratchpad += held.e.scratchpad;
        e_seen.global += held.e.global;
      }
    }
  }
  EXPECT_GT(c_seen.scratchpad, 0);
  EXPECT_GT(c_seen.links, 0);
  EXPECT_GT(c_seen.global, 0);
  EXPECT_GT(e_seen.scratchpad, 0);
  EXPECT_GT(e_seen.global, 0);
}

TEST(TileGraphs, LinearChainsMaySplitKOverClusters) {
  Plan plan = plan_of(LoopSchedule::parse("ML"), {1, 2, 1, 1}, GatedWay::none);
  const Chain chain = sized(plan, false, Activation::none);
  expect_plan(chain, plan, machine());
  EXPECT_EQ(analyze(chain, plan, machine()).steps.clusters, 8);
}

TEST(TileGraphs, MoreClustersThanRunAtATimeTakeWaves) {
  Machine two = machine();
  two.core.count = 4;
  Plan plan = plan_of(LoopSchedule::parse("LK"), {1, 2, 1, 1}, GatedWay::none);
  const Chain chain = sized(plan, false, Activation::relu);
  const Analysis analysis = analyze(chain, plan, two);
  EXPECT_EQ(analysis.steps.clusters, 8);
  const Measured slow = measure_plan(chain, plan, analysis, two);
  const Measured fast = measure_plan(chain, plan, analysis, machine());
  EXPECT_EQ(slow.bytes, fast.bytes);
  EXPECT_GT(slow.cycles, 2 * fast.cycles);
}

}  // namespace
}  // namespace fuseflow::cluster
