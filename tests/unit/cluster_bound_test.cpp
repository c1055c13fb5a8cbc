// The bound that lets the search leave plans out, and the search that uses it: no simulation is
// below its bound, and what a search finds is what simulating everything finds.
#include "cluster/chain/bound.h"
#include "cluster/chain/product_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cluster/chain/choice.h"
#include "machine/load.h"
#include "sanitized.h"

namespace fuseflow::cluster {
namespace {

/// Machines on which other resources bind.
std::vector<Machine> bound_machines() {
  const Machine h100 = load_machine("h100", {});
  Machine slow_links = h100, few_cores = h100, small = h100, fast_memory = h100, cached = h100,
          small_cache = h100, slow_cache = h100;
  for (double& rate : slow_links.links.bandwidth_gigabytes_per_second) rate /= 50;
  few_cores.core.count = 16;
  small.core.scratchpad_bytes = 32768;
  small.core.register_bytes = 32768;
  fast_memory.global.bandwidth_gigabytes_per_second = 50000;
  fast_memory.global.latency_cycles = 11;
  fast_memory.l2.capacity_bytes = 0;
  cached.l2 = {50 << 20, 4000, 265};
  small_cache.core.count = 16;
  small_cache.l2 = {32768, 300, 20};
  slow_cache.l2 = {1 << 20, 100, 470};
  std::vector<Machine> machines = {h100,        slow_links, few_cores,   small,
                                   fast_memory, cached,     small_cache, slow_cache};
  for (size_t i = 0; i < machines.size(); ++i) machines[i].name = std::to_string(i);
  return few_if_sanitized(std::move(machines), 3);
}

std::vector<Chain> chains() {
  std::vector<Chain> chains = {gemm_chain(64, 256, 128, 64, Activation::relu),
                               gemm_chain(256, 128, 64, 256, Activation::none),
                               gated_ffn(64, 128, 128)};
  chains.push_back(gemm_chain(32, 512, 256, 256, Activation::gelu));
  chains.back().bias0 = 1;
  chains.back().bias1 = chains.back().residual = true;
  chains.push_back(gated_ffn(128, 256, 64));
  chains.back().bytes = ElementBytes::of(4);
  chains.push_back(gemm_chain(64, 128, 256, 64, Activation::relu));
  chains.back().bias0 = 1;
  chains.back().bias1 = true;
  chains.back().bytes = {.a = 2, .b = 1, .d = 1, .e = 4, .c = 2, .bias0 = 4, .bias1 = 4};
  return chains;
}

TEST(Bound, IsBelowEverySimulation) {
  int exact = 0;
  for (const Machine& machine : bound_machines()) {
    for (const Chain& chain : chains()) {
      for (const Holding holding : {Holding::linked, Holding::one_core, Holding::scratchpad}) {
        for (const RankedPlan& plan : random_plans(chain, machine, {25, 7, holding})) {
          const ScaledMeasure measure = measure_scaled(chain, plan.plan, plan.analysis, machine);
          ASSERT_EQ(measure.scale, 1);
          const int64_t least = least_cycles(plan.analysis, plan.plan, machine);
          ASSERT_LE(least, measure.measured.cycles)
              << chain.name << " " << describe(plan.plan) << " on machine " << machine.name;
          exact += 100 * least >= 90 * measure.measured.cycles ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(exact, kSanitized ? 10 : 100);  // a bound of nothing would pass, too
}

/// A launch of so many tiles is shortened to be measured; what it stores is all of the result, of
/// which an L2 keeps at most its capacity.
TEST(Measure, AShortenedLaunchStoresTheWholeResult) {
  if (kSanitized) GTEST_SKIP() << "more than a million tile operations";
  const Chain chain = gemm_chain(2048, 2048, 1024, 64, Activation::relu);
  Plan plan;
  plan.schedule = LoopSchedule::parse("MLNK");
  plan.tile.value = {16, 16, 16, 16};
  const int64_t result = int64_t{2048} * 64 * 2, capacity = 65536;
  Machine machine = load_machine("h100", {});
  machine.l2.capacity_bytes = capacity;
  machine.core.matrix_shapes[1] = {};  // any tiles
  const Analysis analysis = analyze(chain, plan, machine);
  const ScaledMeasure measure = measure_scaled(chain, plan, analysis, machine);
  ASSERT_GT(measure.scale, 1);
  EXPECT_LE(measure.measured.bytes.global_write, result);
  EXPECT_GE(measure.measured.bytes.global_write, result - measure.scale * capacity);
}

TEST(Bound, TheSearchFindsWhatSimulatingEverythingFinds) {
  for (const char* l2 : {"l2.capacity_bytes=0", "l2.capacity_bytes=65536"}) {
    const Machine machine = load_machine("h100", {l2, "l2.bytes_per_cycle=4000"});
    const Chain chain = gemm_chain(32, 64, 64, 64, Activation::relu);
    for (const Holding holding : {Holding::linked, Holding::one_core}) {
      SearchOptions options;
      options.holding = holding;
      const std::vector<RankedPlan> all = search(chain, machine, options).best;
      const std::vector<int64_t> cycles = measure_all(chain, all, machine);
      const MeasuredPlan best = best_plan(chain, machine, holding);
      const auto fastest = std::min_element(cycles.begin(), cycles.end());
      EXPECT_EQ(best.measure.measured.cycles, *fastest);
      EXPECT_EQ(best.rank, fastest - cycles.begin() + 1);
      EXPECT_EQ(best.log.left, 0);
      EXPECT_EQ(best.log.simulated + best.log.bounded, static_cast<int64_t>(all.size()));
      EXPECT_LT(best.log.simulated, static_cast<int64_t>(all.size()));
    }
  }
}

TEST(Bound, KernelsApartAreTheFastestToo) {
  for (const char* l2 : {"l2.capacity_bytes=0", "l2.capacity_bytes=65536"}) {
    const Machine machine = load_machine("h100", {l2, "l2.bytes_per_cycle=4000"});
    for (const ProductSize& size :
         {ProductSize{64, 128, 256, true, false, ProductBytes::of(2), false},
          ProductSize{128, 64, 64, false, true, ProductBytes::of(4), true}}) {
      Effort all, first;
      first.most = 1;
      const Measured best = best_product(size, machine, all);
      EXPECT_LE(best.cycles, best_product(size, machine, first).cycles);
      EXPECT_EQ(best.cycles, best_product_of_all(size, machine).cycles);
    }
  }
}

/// Cycles 90, 70, 80, 60 with bounds that are half of them.
struct Cycles {
  std::vector<int64_t> cycles{90, 70, 80, 60};
  std::vector<size_t> tried;
  Fastest find(const Effort& effort) {
    tried.clear();
    return find_fastest(
        cycles.size(), [&](size_t i) { return cycles[i] / 2; },
        [&](size_t i, int64_t most) {
          tried.push_back(i);
          return Trial{cycles[i], 10, most == 0 || cycles[i] <= most};
        },
        effort);
  }
};

TEST(FindFastest, SaysWhatItLeft) {
  Cycles all;
  Fastest found = all.find({});
  EXPECT_EQ(found.cycles, 60);
  EXPECT_EQ(found.at, 3U);
  EXPECT_EQ(found.log.simulated, 4);
  EXPECT_EQ(found.log.left, 0);
  found = all.find({.operations = 15, .most = 0});
  EXPECT_EQ(found.cycles, 70);
  EXPECT_EQ(found.log.left, 2);
  EXPECT_EQ(found.log.least_left, 30);
  found = all.find({.operations = 1000, .most = 3});
  EXPECT_EQ(found.cycles, 70);
  EXPECT_EQ(found.log.left, 1);
  all.cycles = {90, 30, 80, 60, 59};
  found = all.find({});
  EXPECT_EQ(all.tried, (std::vector<size_t>{0, 1, 4}));
  EXPECT_EQ(found.log.bounded, 2);
  EXPECT_FALSE(find_fastest(0, {}, {}, {}).found);
}

TEST(FindFastest, HasToBeatWhatAnotherSearchFound) {
  std::vector<int64_t> mosts;
  const auto least = [](size_t i) { return i == 0 ? 12 : 5; };
  const auto simulate = [&](size_t i, int64_t most) {
    mosts.push_back(most);
    return Trial{i == 1 ? 10 : 8, 1, i != 1};
  };
  const Fastest fastest = find_fastest(3, least, simulate, {}, 10);
  EXPECT_EQ(mosts, (std::vector<int64_t>{9, 9}));  // the first one's bound is not below 10
  EXPECT_EQ(fastest.at, 2U);
  EXPECT_EQ(fastest.cycles, 8);
  EXPECT_FALSE(find_fastest(3, least, simulate, {}, 5).found);
}

TEST(Choice, APlanHasToBeatFoldedKernels) {
  Choice choice;
  choice.separate.cycles = 100;
  choice.folded.cycles = 80;
  choice.linked.rank = choice.one_core.rank = 1;
  choice.linked.measure.measured.cycles = 90;
  choice.one_core.measure.measured.cycles = 99;
  EXPECT_EQ(choice.way(), Way::folded);
  EXPECT_EQ(choice.cycles(), 80);
  EXPECT_DOUBLE_EQ(choice.links_gain(), 1.1);
  choice.linked.measure.measured.cycles = 80;
  EXPECT_EQ(choice.way(), Way::folded);  // not faster
  choice.one_core.measure.measured.cycles = 79;
  EXPECT_EQ(choice.way(), Way::one_core);
  choice.separate.cycles = 78;
  EXPECT_EQ(choice.way(), Way::separate);
  EXPECT_EQ(choice.cycles(), 78);
  choice.one_core.rank = choice.linked.rank = 0;
  EXPECT_EQ(choice.way(), Way::separate);
  EXPECT_EQ(choice.links_gain(), 0);
}

}  // namespace
}  // namespace fuseflow::cluster
