// Families of instructions of a matrix unit: what a product of tiles costs, on paper, and that the
// simulation and its closed forms take it.
#include <gtest/gtest.h>

#include "cluster/chain/baseline.h"
#include "cluster/chain/bound.h"
#include "cluster/chain/elementwise_kernel.h"
#include "cluster/chain/measure.h"
#include "cluster/chain/product_kernel.h"
#include "cluster_measure.h"
#include "machine/load.h"
#include "support/error.h"

namespace fuseflow::cluster {
namespace {

/// 64 x 8 x 16 at the full rate, 16 x 8 x 16 at 0.62 of it.
Machine with_families(Machine machine) {
  machine.core.matrix_shapes = {MatrixShape{64, 8, 16, 1}, MatrixShape{16, 8, 16, 0.62}};
  return machine;
}

Machine without_families() {
  Machine machine = load_machine("h100", {});
  machine.core.matrix_shapes = {};
  return machine;
}

TEST(MatrixShapes, TheBestFamilyOnPaper) {
  const Machine machine = with_families(without_families());
  const auto work = [&](int64_t m, int64_t n, int64_t k) {
    return machine.matrix_work(m, n, k, 2);
  };
  EXPECT_EQ(work(64, 256, 64), 2 * 64 * 256 * 64);
  EXPECT_EQ(work(16, 128, 16), 2 * 16 * 128 * 16);  // as 128 x 16
  EXPECT_DOUBLE_EQ(work(16, 16, 16), 8192 / 0.62);
  EXPECT_EQ(work(48, 48, 16), 2 * 64 * 48 * 16);
  EXPECT_EQ(work(64, 9, 17), 2 * 64 * 16 * 32);       // columns and depth are padded, too
  EXPECT_EQ(machine.matrix_work(64, 8, 8, 4), 8192);  // a depth of 8 on elements of 4 bytes
  EXPECT_EQ(without_families().matrix_work(3, 5, 7, 2), 210);  // without families any product
}

TEST(MatrixShapes, ASmallTileTakesLonger) {
  Machine plain = without_families();
  plain.core.scratchpad_bytes_per_cycle = 0;  // else the operands bind
  const Machine families = with_families(plain);
  const ProductSize size{16, 16, 256, false, false, ProductBytes::of(2), false};
  Effort all;
  EXPECT_LT(best_product(size, plain, all).matrix_busy_cycles,
            best_product(size, families, all).matrix_busy_cycles);
}

/// Where small tiles bind, no plan and no kernel is faster than its bound.
TEST(MatrixShapes, BoundsHold) {
  Machine machine = with_families(without_families());
  machine.core.matrix_flops_per_cycle = 512;
  const Chain chain = gemm_chain(64, 128, 128, 64, Activation::relu);
  int tighter = 0;
  for (const RankedPlan& plan : random_plans(chain, machine, {40, 3, Holding::linked})) {
    const int64_t least = least_cycles(plan.analysis, plan.plan, machine);
    ASSERT_LE(least, measure_plan(chain, plan.plan, plan.analysis, machine).cycles)
        << describe(plan.plan);
    Machine plain = machine;
    plain.core.matrix_shapes = {};
    tighter += least_cycles(analyze(chain, plan.plan, plain), plan.plan, plain) < least ? 1 : 0;
  }
  EXPECT_GT(tighter, 10);
  const ProductSize size{48, 128, 256, false, false, ProductBytes::of(2), false};
  Effort first;
  first.most = 1;
  EXPECT_EQ(best_product(size, machine, {}).cycles, best_product_of_all(size, machine).cycles);
  EXPECT_GE(best_product(size, machine, first).cycles, best_product(size, machine, {}).cycles);
}

TEST(MatrixShapes, AFamilyHasAllItsExtents) {
  try {
    load_machine("rda", {"core.matrix_shapes.1.rows=64", "core.matrix_shapes.1.columns=8"});
    FAIL() << "a family without depth was taken";
  } catch (const Error& error) {
    const std::string message = error.diagnostics()[0].message;
    EXPECT_NE(message.find("`core.matrix_shapes.1.depth` is 0, expected at least 1"),
              std::string::npos)
        << message;
  }
}

}  // namespace
}  // namespace fuseflow::cluster
