// The search over tiles that cut an extent evenly: which tiles there are, that its plans are sound
// and that their bounds hold, and that no chain gets a slower plan by it.
#include "cluster/chain/even_tiles.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cluster/chain/bound.h"
#include "cluster/chain/measure.h"
#include "cluster/chain/product_kernel.h"
#include "cluster_measure.h"
#include "machine/load.h"

namespace fuseflow::cluster {
namespace {

using Tiles = std::vector<EvenTile>;

TEST(EvenTiles, FewStepsAndThoseOfPowersOfTwo) {
  // 96 in one, two and three steps; in four it would be 32, too.
  EXPECT_EQ(even_tiles(96, 1), (Tiles{{16, 96}, {32, 96}, {48, 96}, {96, 96}}));
  EXPECT_EQ(even_tiles(96, 2), (Tiles{{16, 96}, {32, 128}, {48, 96}}));
  // 144 in two steps of 80 has padding of 16.
  EXPECT_EQ(even_tiles(144, 1), (Tiles{{16, 144}, {32, 160}, {48, 144}, {80, 160}, {144, 144}}));
  // 16 blocks of 16 would cover 256.
  EXPECT_EQ(even_tiles(96, 16), Tiles{});
}

TEST(EvenTiles, PowersOfTwoStayAsPublished) {
  EXPECT_EQ(even_tiles(64, 1), (Tiles{{16, 64}, {32, 64}, {64, 64}}));
  EXPECT_EQ(even_tiles(60, 2), (Tiles{{16, 64}, {32, 64}}));
  EXPECT_EQ(even_tiles(1, 1), (Tiles{{16, 16}}));
  EXPECT_EQ(even_tiles(1, 2), Tiles{});
}

TEST(EvenTiles, NoPlansWhereEveryExtentIsAPowerOfTwo) {
  const Chain chain = padded(gemm_chain(1, 256, 128, 60, Activation::relu));
  EXPECT_TRUE(even_plans(chain, load_machine("h100", {}), {}, 0).plans.empty());
}

std::vector<Chain> odd_chains() {
  std::vector<Chain> chains{gemm_chain(48, 96, 80, 40, Activation::relu),
                            gemm_chain(16, 176, 48, 112, Activation::none), gated_ffn(48, 96, 80)};
  chains[0].bias0 = 1;
  chains[0].bias1 = chains[0].residual = 1;
  for (Chain& chain : chains) chain = padded(chain);
  return chains;
}

// Simulating a plan checks its counts against the closed forms, too.
TEST(EvenPlans, CoverTheChainAndAreNotBelowTheirBounds) {
  const Machine h100 = load_machine("h100", {});
  Machine small = h100;
  small.core.scratchpad_bytes = small.core.register_bytes = 32768;
  small.l2.capacity_bytes = 0;
  int measured = 0;
  for (const Machine& machine : {h100, small}) {
    for (const Chain& chain : odd_chains()) {
      for (const Holding holding : {Holding::linked, Holding::one_core}) {
        SearchOptions options;
        options.holding = holding;
        const std::vector<RankedPlan> plans = even_plans(chain, machine, options, 0).plans;
        ASSERT_FALSE(plans.empty());
        for (size_t i = 0; i < plans.size(); i += plans.size() / 20 + 1) {
          const RankedPlan& plan = plans[i];
          for (const Dim dim : kAllDims) EXPECT_GE(plan.size[dim], chain.actual()[dim]);
          const Chain covered = as_covered(chain, plan.size);
          const Measured cycles = measure_plan(covered, plan.plan, plan.analysis, machine);
          EXPECT_LE(least_cycles(plan.analysis, plan.plan, machine), cycles.cycles)
              << chain.name << " " << describe(plan.plan);
          ++measured;
        }
      }
    }
  }
  EXPECT_GT(measured, 100);
}

/// Of the two branches of a gated chain each has a block of its own, or every block has both.
TEST(EvenPlans, BranchesAreSplitOverTwoBlocks) {
  int split = 0;
  for (const RankedPlan& plan :
       even_plans(padded(gated_ffn(48, 96, 80)), load_machine("h100", {}), {}, 0).plans) {
    if (plan.plan.way != GatedWay::split) continue;
    EXPECT_EQ(plan.plan.shape.k, 2) << describe(plan.plan);
    ++split;
  }
  EXPECT_GT(split, 0);
}

TEST(EvenPlans, AreTakenOnlyWhereTheyAreFaster) {
  const Machine machine = load_machine("h100", {});
  int taken = 0;
  for (const Chain& chain : odd_chains()) {
    const std::vector<RankedPlan> published = search(chain, machine, {}).best;
    const MeasuredPlan before = measure_best(chain, published, machine);
    const MeasuredPlan best = best_plan(chain, machine, Holding::linked);
    EXPECT_LE(best.measure.measured.cycles, before.measure.measured.cycles);
    EXPECT_EQ(best.even, best.measure.measured.cycles < before.measure.measured.cycles);
    EXPECT_EQ(best.log.candidates, before.log.candidates);
    EXPECT_GT(best.even_log.candidates, 0);
    taken += best.even ? 1 : 0;
  }
  EXPECT_GT(taken, 0);
}

// docs/evaluation.md: 4464 cycles with tiles of powers of two alone, over linked cores, too.
TEST(EvenPlans, AGatedChainOf96) {
  const Chain chain = padded(gated_ffn(64, 256, 96));
  const MeasuredPlan best = best_plan(chain, load_machine("h100", {}), Holding::one_core);
  EXPECT_EQ(describe(best.plan.plan), "L/MNK cls 1,1,1,1 blk 16,16,96,96 way sequential");
  EXPECT_LT(best.measure.measured.cycles, 3500);  // 16 clusters add to E, and settle it
}

// Kernels apart have such tiles, too, so that fusion does not gain by padding alone.
TEST(EvenPlans, AProductByItself) {
  const Machine machine = load_machine("h100", {});
  ProductSize size{384, 768, 160};
  const MeasuredProduct in_powers = find_product(size, machine, {});
  size.actual = {300, 700, 130};
  const MeasuredProduct best = find_product(size, machine, {});
  EXPECT_LT(best.measured.cycles, in_powers.measured.cycles);
  EXPECT_GE(best.size.m, 300);
  EXPECT_GE(best.size.n, 700);
  EXPECT_GE(best.size.k, 130);
  EXPECT_EQ(best.size.m % best.plan.m, 0);
}

TEST(LeastBytes, AnL2SavesReadsOfWhatWasWritten) {
  // A 64x96, B 96x96, D 96x64, E 64x64 and C of 2 bytes, which two kernels write and two read.
  const Chain chain = gemm_chain(64, 96, 96, 64, Activation::relu);
  EXPECT_EQ(least_bytes(chain, true), 51200);
  EXPECT_EQ(least_bytes(chain, false), 51200 + 4 * 12288);
  EXPECT_EQ(least_bytes(chain, false, true), 51200 + 2 * 12288);
}

}  // namespace
}  // namespace fuseflow::cluster
