// Elementwise work of chains and of their kernels apart takes the lanes: a case on paper, that it
// costs, and that the bounds hold where it binds.
#include <gtest/gtest.h>

#include "cluster/chain/baseline.h"
#include "cluster/chain/bound.h"
#include "cluster/chain/elementwise_kernel.h"
#include "cluster/chain/measure.h"
#include "cluster/chain/product_kernel.h"
#include "cluster_measure.h"
#include "machine/load.h"

namespace fuseflow::cluster {
namespace {

Machine slow_lanes(double vector, double special) {
  // Near memory, and rates that are powers of two: operands are there before the lanes need them,
  // and no transfer ends within a cycle.
  Machine machine =
      load_machine("h100", {"clock_gigahertz=1", "dram.latency_cycles=100", "l2.latency_cycles=100",
                            "dram.bandwidth_gigabytes_per_second=2048", "dram.channels=32",
                            "l2.bytes_per_cycle=4096", "core.port_bytes_per_cycle=64",
                            "core.matrix_shapes.1.rows=0", "core.matrix_shapes.2.rows=0"});
  machine.core.vector_operations_per_cycle = vector;
  machine.core.comparison_rate_share = 1;
  machine.core.special_operations_per_cycle = special;
  return machine;
}

/// One cluster computes all in one step: what its lanes take is added to the time, because
/// everything else waits for it.
TEST(Lanes, OneTileOnPaper) {
  const Chain chain = gemm_chain(16, 32, 16, 16, Activation::gelu);
  Plan plan;
  plan.schedule = LoopSchedule::parse("MLK");
  plan.tile.value = {16, 32, 16, 16};
  const auto cycles = [&](const Machine& machine) {
    return measure_plan(chain, plan, analyze(chain, plan, machine), machine).cycles;
  };
  // gelu is a sum, three products and an exponential: 4 x 512 / 8 + 512 / 2 cycles, half of
  // both at twice the rates.
  EXPECT_EQ(cycles(slow_lanes(8, 2)), cycles(slow_lanes(16, 4)) + 128 + 128);
  EXPECT_EQ(cycles(slow_lanes(4, 2)), cycles(slow_lanes(8, 2)) + 256);
}

/// silu is x / (1 + exp(-x)): a sum, a product and a comparison, a division and an exponential.
TEST(Lanes, ComparisonsHaveARateOfTheirOwn) {
  EXPECT_EQ(lane_work(Op::silu), (LaneWork{2, 1, 2}));
  EXPECT_EQ(lane_work(Op::where), (LaneWork{0, 1, 0}));
  EXPECT_EQ(lane_work(Reduction::max), (LaneWork{0, 1, 0}));
  EXPECT_EQ(lane_work(Reduction::min), (LaneWork{0, 1, 0}));
  EXPECT_EQ(lane_work(Reduction::sum), (LaneWork{1, 0, 0}));
  EXPECT_EQ(lane_work(Reduction::prod), (LaneWork{1, 0, 0}));
  Machine machine = slow_lanes(8, 2);
  EXPECT_EQ(lane_cycles({16, 24, 10}, machine), 16. / 8 + 24. / 8 + 10. / 2);
  machine.core.comparison_rate_share = 0.25;
  EXPECT_EQ(lane_cycles({16, 24, 10}, machine), 16. / 8 + 24. / 2 + 10. / 2);
  machine.core.vector_operations_per_cycle = 0;
  EXPECT_EQ(lane_cycles({16, 24, 10}, machine), 10. / 2);
}

/// Two cores sum their halves of C: 256 sums and ReLUs each.
TEST(Lanes, SumsOfAnExchange) {
  const Chain chain = gemm_chain(16, 32, 32, 32, Activation::relu);
  Plan plan;
  plan.schedule = LoopSchedule::parse("MLK");
  plan.shape = {1, 1, 2, 2};
  plan.tile.value = {16, 32, 16, 16};
  const auto cycles = [&](const Machine& machine) {
    return measure_plan(chain, plan, analyze(chain, plan, machine), machine).cycles;
  };
  EXPECT_EQ(cycles(slow_lanes(4, 1)), cycles(slow_lanes(0, 0)) + 2 * 256 / 4);
  Machine slow_comparisons = slow_lanes(4, 1);
  slow_comparisons.core.comparison_rate_share = 0.5;
  EXPECT_EQ(cycles(slow_comparisons), cycles(slow_lanes(0, 0)) + 256 / 4 + 2 * 256 / 4);
}

TEST(Lanes, WorkOfAChain) {
  Chain chain = gated_ffn(64, 64, 64);
  chain.bias0 = 2;
  const LaneWork silu = lane_work(Op::silu);
  EXPECT_EQ(work_of_activation(chain), silu);
  LaneWork of_c = silu;
  of_c.vector += 3;
  EXPECT_EQ(work_of_c(chain), of_c);
  chain.residual = true;
  EXPECT_EQ(work_of_e(chain), LaneWork{.vector = 1});
}

TEST(Lanes, KernelsApartPayForThemToo) {
  const Chain chain = gemm_chain(64, 128, 128, 64, Activation::gelu);
  Effort few;
  few.most = 4;
  for (const Kernels kernels : {Kernels::separate, Kernels::folded, Kernels::fixed}) {
    EXPECT_LT(unfused(chain, slow_lanes(0, 0), few, kernels).cycles,
              unfused(chain, slow_lanes(2, 1), few, kernels).cycles);
  }
}

TEST(Lanes, BoundsHoldWhereTheyBind) {
  const Machine machine = slow_lanes(2, 1);
  int tighter = 0;
  std::vector<Chain> chains = {gemm_chain(64, 128, 128, 64, Activation::gelu),
                               gated_ffn(64, 128, 64)};
  chains[0].bias0 = 1;
  chains[1].residual = chains[1].bias1 = true;
  for (const Chain& chain : chains) {
    for (const RankedPlan& plan : random_plans(chain, machine, {30, 5, Holding::linked})) {
      const int64_t least = least_cycles(plan.analysis, plan.plan, machine);
      ASSERT_LE(least, measure_plan(chain, plan.plan, plan.analysis, machine).cycles)
          << describe(plan.plan);
      const Machine fast = slow_lanes(0, 0);
      const int64_t free = least_cycles(analyze(chain, plan.plan, fast), plan.plan, fast);
      tighter += free < least ? 1 : 0;
    }
  }
  EXPECT_GT(tighter, 30);
  ProductSize size{64, 64, 128, true, false, ProductBytes::of(2), false};
  size.each = lane_work(Op::gelu);
  EXPECT_EQ(best_product(size, machine, {}).cycles, best_product_of_all(size, machine).cycles);
}

}  // namespace
}  // namespace fuseflow::cluster
