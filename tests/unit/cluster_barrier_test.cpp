// Barriers: what waits for a tile sees it later, and so does another core that waits for room.
#include <gtest/gtest.h>

#include "cluster/chain/bound.h"
#include "cluster/chain/measure.h"
#include "cluster_measure.h"
#include "machine/load.h"

namespace fuseflow::cluster {
namespace {

Machine with_barriers(int64_t core, int64_t links) {
  Machine machine = load_machine("h100", {"links.multicast=false"});
  machine.core.barrier_cycles = core;
  machine.links.barrier_cycles = {0, links, links, links, links};
  return machine;
}

Plan plan_of(const ClusterShape& shape, std::array<int64_t, 4> tile) {
  Plan plan;
  plan.schedule = LoopSchedule::parse("MLK");
  plan.shape = shape;
  plan.tile.value = tile;
  return plan;
}

int64_t cycles(const Chain& chain, const Plan& plan, const Machine& machine) {
  return measure_plan(chain, plan, analyze(chain, plan, machine), machine).cycles;
}

/// Load, partial sums, finished shares: three times something comes from elsewhere before E.
TEST(Barriers, OfAnExchangeOnPaper) {
  const Chain chain = gemm_chain(16, 32, 32, 32, Activation::relu);
  const Plan plan = plan_of({1, 1, 2, 2}, {16, 32, 16, 16});
  EXPECT_EQ(cycles(chain, plan, with_barriers(7, 0)),
            cycles(chain, plan, with_barriers(0, 0)) + int64_t{3} * 7);
  EXPECT_EQ(cycles(chain, plan, with_barriers(0, 50)), cycles(chain, plan, with_barriers(0, 0)))
      << "nobody waits for room the first time";
}

/// The third slice of a ring arrives where the first was: its sender waits until that is known.
TEST(Barriers, RoomInARing) {
  const Chain chain = gemm_chain(16, 256, 32, 64, Activation::relu);
  const Plan plan = plan_of({1, 4, 1, 4}, {16, 64, 32, 16});
  const int64_t free = cycles(chain, plan, with_barriers(0, 0));
  const int64_t late = cycles(chain, plan, with_barriers(0, 1000));
  EXPECT_GT(late, free + 900);
  EXPECT_LE(late, free + 1000);
}

TEST(Barriers, BoundsHold) {
  const Machine machine = with_barriers(90, 400);
  int tighter = 0;
  for (const Chain& chain : {gemm_chain(64, 128, 128, 64, Activation::relu), gated_ffn(64, 128, 64),
                             gemm_chain(64, 256, 64, 128, Activation::none)}) {
    for (const RankedPlan& plan : random_plans(chain, machine, {30, 9, Holding::linked})) {
      const int64_t least = least_cycles(plan.analysis, plan.plan, machine);
      const int64_t measured = cycles(chain, plan.plan, machine);
      ASSERT_LE(least, measured) << describe(plan.plan);
      // A scratchpad serves who comes first. Where E follows each C at once, what the next C does
      // with earlier room may come before what this one waits for: at most 0.21% here.
      const int64_t faster = cycles(chain, plan.plan, with_barriers(90, 0));
      ASSERT_GE(measured, plan.analysis.added == 0 ? faster : faster * 997 / 1000)
          << describe(plan.plan);
      const Machine free = with_barriers(0, 0);
      tighter += least_cycles(plan.analysis, plan.plan, free) < least ? 1 : 0;
    }
  }
  EXPECT_GT(tighter, 60);
}

}  // namespace
}  // namespace fuseflow::cluster
