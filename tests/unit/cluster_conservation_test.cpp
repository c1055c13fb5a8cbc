// Laws that every simulation of tiles obeys, and that the checks find when they are broken.
#include <gtest/gtest.h>

#include "cluster/chain/measure.h"
#include "machine/load.h"
#include "sim/tiles/conservation.h"
#include "sim/tiles/expand.h"

namespace fuseflow::cluster {
namespace {

/// A plan that exchanges, gathers, shuffles and scatters, and keeps C in linked scratchpads.
struct Linked {
  Machine machine = load_machine("h100", {});
  Chain chain = gemm_chain(32, 256, 128, 256, Activation::relu);
  Plan plan;
  Analysis analysis;

  Linked() {
    machine.core.register_bytes = 2048 + 300;
    machine.core.scratchpad_bytes = 3700;
    plan.schedule = LoopSchedule::parse("LNK");
    plan.shape = {1, 4, 2, 4};
    plan.tile.value = {16, 16, 16, 16};
    analysis = analyze(chain, plan, machine);
  }
};

TEST(Conservation, LinksCarryWhatIsReceived) {
  const Linked given;
  ASSERT_EQ(obstacle_of(given.chain, given.plan, given.analysis.steps), Obstacle::none);
  const Graph graph = plan_graph(given.chain, given.plan, given.analysis);
  ASSERT_GT(given.analysis.capacity.c.links, 0);
  TileOps ops = expand_tiles(graph, true);
  const LinkBytes bytes = link_bytes_of(ops, graph);
  EXPECT_EQ(bytes.sent, bytes.received);
  EXPECT_EQ(bytes.sent * given.analysis.steps.clusters, given.analysis.total.link);
  for (TileOp& op : ops.nodes) {  // each of them is noticed
    if (op.bytes.link == 0) continue;
    op.bytes.link += 2;
    const LinkBytes more = link_bytes_of(ops, graph);
    EXPECT_NE(more.sent, more.received);
    op.bytes.link -= 2;
  }
}

TEST(Conservation, EveryTileIsLoadedOnce) {
  const Linked given;
  const Graph graph = plan_graph(given.chain, given.plan, given.analysis);
  const CompulsoryBytes least = compulsory_bytes(graph);
  EXPECT_EQ(least.loaded, 2 * (32 * 128 + 128 * 256 + 256 * 256));
  EXPECT_EQ(least.stored, 2 * 32 * 256);
  EXPECT_GE(given.analysis.total.global_read, least.loaded);
  EXPECT_GE(given.analysis.total.global_write, least.stored);
}

TEST(Conservation, TensorsOfOtherElementSizes) {
  Linked given;
  given.chain.bytes = {.a = 2, .b = 1, .d = 4, .e = 8, .c = 2};
  given.machine.core.scratchpad_bytes = 2 * 3700;
  given.machine.core.register_bytes = 2048 + 600;
  given.analysis = analyze(given.chain, given.plan, given.machine);
  ASSERT_EQ(obstacle_of(given.chain, given.plan, given.analysis.steps), Obstacle::none);
  const Graph graph = plan_graph(given.chain, given.plan, given.analysis);
  EXPECT_EQ(graph.tiles->element_bytes, 4);
  const CompulsoryBytes least = compulsory_bytes(graph);
  EXPECT_EQ(least.loaded, 2 * 32 * 128 + 1 * 128 * 256 + 4 * 256 * 256);
  EXPECT_EQ(least.stored, 8 * 32 * 256);
  const LinkBytes bytes = link_bytes_of(expand_tiles(graph, true), graph);
  EXPECT_EQ(bytes.sent, bytes.received);
  EXPECT_EQ(bytes.sent * given.analysis.steps.clusters, given.analysis.total.link);
}

TEST(Conservation, NoCoreIsFasterThanItsPeak) {
  const Machine machine = load_machine("h100", {});
  WorkDone most;
  most.flops = static_cast<int64_t>(machine.core.matrix_flops_per_cycle * 10);
  most.port_bytes = static_cast<int64_t>(machine.core.port_bytes_per_cycle * 10);
  most.scratchpad_bytes = static_cast<int64_t>(machine.core.scratchpad_bytes_per_cycle * 10);
  most.link_bytes = static_cast<int64_t>(machine.link_bytes_per_cycle(4) * 10);
  EXPECT_FALSE(exceeded_rate(most, 10, 2, 4, machine));
  EXPECT_TRUE(exceeded_rate(most, 10, 4, 4, machine));  // f32: half the rate
  for (int64_t WorkDone::*field : {&WorkDone::flops, &WorkDone::port_bytes,
                                   &WorkDone::scratchpad_bytes, &WorkDone::link_bytes}) {
    WorkDone more = most;
    more.*field += 2;
    EXPECT_TRUE(exceeded_rate(more, 10, 2, 4, machine));
  }
  Machine free;
  free.has_cores = true;
  EXPECT_FALSE(exceeded_rate(most, 1, 2, 4, free));
}

}  // namespace
}  // namespace fuseflow::cluster
