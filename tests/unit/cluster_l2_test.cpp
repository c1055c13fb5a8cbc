// The L2 of a machine of cores: which tiles it holds, what an access costs, worked on paper, and
// what that makes of the bytes of plans.
#include <gtest/gtest.h>

#include "cluster/chain/baseline.h"
#include "cluster/chain/choice.h"
#include "cluster/chain/elementwise_kernel.h"
#include "cluster/chain/product_kernel.h"
#include "cluster_measure.h"
#include "machine/load.h"
#include "sim/tiles/conservation.h"
#include "sim/tiles/memory.h"
#include "sim/tiles/places.h"
#include "sim/tiles/tile_cache.h"
#include "support/error.h"

namespace fuseflow::cluster {
namespace {

TEST(TileCache, TheTileUsedTheLongestAgoGoesFirst) {
  TileCache cache(100);
  cache.put({{0, 0, 0}, 40, 7, false});
  cache.put({{0, 0, 16}, 40, 8, true});
  ASSERT_NE(cache.find({0, 0, 0}), nullptr);  // now the one at column 16 is older
  EXPECT_EQ(cache.find({0, 0, 0})->there, 7);
  cache.put({{1, 0, 0}, 30, 9, false});  // 40 + 40 + 30 is more than 100
  EXPECT_EQ(cache.bytes(), 70);
  EXPECT_EQ(cache.find({0, 0, 16}), nullptr);
  EXPECT_NE(cache.find({0, 0, 0}), nullptr);
  EXPECT_NE(cache.find({1, 0, 0}), nullptr);
  EXPECT_EQ(cache.find({0, 16, 0}), nullptr);  // rows and columns are told apart
  cache.put({{2, 0, 0}, 101, 0, false});       // larger than the cache: nothing goes for it
  EXPECT_EQ(cache.bytes(), 70);
  cache.put({{3, 0, 0}, 100, 0, false});
  EXPECT_EQ(cache.bytes(), 100);
  EXPECT_EQ(cache.find({0, 0, 0}), nullptr);
  EXPECT_EQ(cache.find({1, 0, 0}), nullptr);
}

/// 8 bytes a cycle of DRAM 100 cycles away, 32 of an L2 20 cycles away.
Machine cached_machine() {
  Machine machine;
  machine.global.bandwidth_gigabytes_per_second = 8;
  machine.global.latency_cycles = 100;
  machine.core.port_bytes_per_cycle = 16;
  machine.l2 = {1024, 32, 20};
  return machine;
}

/// An access of 64 bytes: 4 cycles of a port.
TileTransfer ask(int64_t row, int64_t cycle) {
  return {{0, row, 0}, 64, 0, cycle * kTicks, (cycle + 4) * kTicks};
}

TEST(TileMemory, LoadsOnPaper) {
  const Machine machine = cached_machine();
  TileMemory memory(machine);
  TileAnswer answer = memory.load(ask(0, 0));
  EXPECT_EQ(answer.end, (8 + 100) * kTicks);  // 8 cycles of the channel, then its latency
  EXPECT_EQ(answer.memory_bytes, 64);
  // Another core asks for the same tile: it waits for it to arrive in the L2, at 88.
  answer = memory.load(ask(0, 3));
  EXPECT_EQ(answer.end, (88 + 20) * kTicks);
  EXPECT_EQ(answer.memory_bytes, 0);
  // Later its port is the slowest: 4 cycles, then the L2's latency.
  answer = memory.load(ask(0, 200));
  EXPECT_EQ(answer.end, (204 + 20) * kTicks);
  // Three at a time: the L2 takes 2 cycles for each, so the third is through at 306.
  for (const int64_t end : {304, 304, 306}) {
    EXPECT_EQ(memory.load(ask(0, 300)).end, (end + 20) * kTicks);
  }
}

TEST(TileMemory, StoresGoToMemoryOnce) {
  const Machine machine = cached_machine();
  TileMemory memory(machine);
  EXPECT_EQ(memory.store(ask(0, 0)).memory_bytes, 64);
  const TileAnswer again = memory.store(ask(0, 50));
  EXPECT_EQ(again.memory_bytes, 0);
  EXPECT_EQ(again.end, (54 + 20) * kTicks);
  EXPECT_EQ(memory.load(ask(0, 100)).memory_bytes, 0);  // what was stored is there
  EXPECT_EQ(memory.load(ask(1, 100)).memory_bytes, 64);
  EXPECT_EQ(memory.store(ask(1, 300)).memory_bytes, 64);               // it was only read
  for (int64_t row = 2; row < 18; ++row) memory.load(ask(row, 1000));  // 1024 other bytes
  EXPECT_EQ(memory.store(ask(0, 2000)).memory_bytes, 64);
}

TEST(TileMemory, StoresAndSumsHaveRatesOfTheirOwn) {
  Machine machine = cached_machine();
  TileTransfer sum = ask(0, 100);
  sum.adds = true;
  const auto ends = [&] {
    TileMemory memory(machine);
    memory.store(ask(0, 0));
    const int64_t stored = memory.store(ask(0, 50)).end - 50 * kTicks;
    return std::pair(stored, memory.store(sum).end - 100 * kTicks);
  };
  // Stores pass as loads do, 32 bytes a cycle: the port's 4 cycles are longer. Then the L2's
  // latency.
  EXPECT_EQ(ends(), std::pair((4 + 20) * kTicks, (4 + 20) * kTicks));
  machine.l2.store_bytes_per_cycle = 8;
  EXPECT_EQ(ends(), std::pair((8 + 20) * kTicks, (8 + 20) * kTicks));
  machine.l2.add_bytes_per_cycle = 4;
  EXPECT_EQ(ends(), std::pair((8 + 20) * kTicks, (16 + 20) * kTicks));
  machine.l2.store_bytes_per_cycle = 0;
  EXPECT_EQ(ends(), std::pair((4 + 20) * kTicks, (16 + 20) * kTicks));
}

TEST(TileMemory, WithoutAnL2EveryAccessIsOneOfMemory) {
  Machine machine = cached_machine();
  machine.l2.capacity_bytes = 0;
  TileMemory memory(machine);
  for (const int64_t cycle : {0, 500, 1000}) {
    const TileAnswer answer = memory.load(ask(0, cycle));
    EXPECT_EQ(answer.end, (cycle + 108) * kTicks);
    EXPECT_EQ(answer.memory_bytes, 64);
  }
}

TEST(TileMemory, AHeldTileIsThereFromTheStart) {
  const Machine machine = cached_machine();
  TileMemory memory(machine);
  memory.hold({0, 0, 0}, 64);
  EXPECT_EQ(memory.load(ask(0, 0)).memory_bytes, 0);
}

Machine with_l2(const Machine& machine, int64_t bytes) {
  Machine cached = machine;
  cached.l2 = {bytes, 4000, 200};
  return cached;
}

Machine bare() {
  return with_l2(load_machine("h100", {"links.multicast=false"}), 0);
}

/// Four clusters along N, each with all of A, which all cores of a column load.
struct Shared {
  Chain chain = gemm_chain(32, 128, 64, 64, Activation::relu);
  Plan plan;
  Analysis analysis;

  explicit Shared(const Machine& machine) {
    plan.schedule = LoopSchedule::parse("MLK");
    plan.shape = {1, 2, 1, 2};
    plan.tile.value = {16, 16, 32, 32};
    analysis = analyze(chain, plan, machine);
  }
  Measured measure(const Machine& machine) const {
    return measure_plan(chain, plan, analysis, machine);
  }
};

TEST(L2, CoresLoadAsBeforeAndMemoryGivesEachTileOnce) {
  Machine without = bare();
  without.global.bandwidth_gigabytes_per_second = 100;  // what bounds these plans
  const Machine with = with_l2(without, 1 << 20);
  const Shared given(without);
  ASSERT_EQ(given.analysis.steps.clusters, 4);
  const Measured before = given.measure(without), after = given.measure(with);
  EXPECT_EQ(before.bytes.l2_read + before.bytes.l2_write, 0);
  const int64_t operands = int64_t{2} * (32 * 64 + 64 * 128 + 128 * 64), sums = 4 * 32 * 64;
  EXPECT_EQ(given.analysis.added, 4 * sums);
  EXPECT_EQ(after.bytes.l2_read, before.bytes.global_read - 4 * sums);  // read by memory to add
  EXPECT_EQ(after.bytes.l2_write, before.bytes.global_write);
  // Sums in f32 come from memory and go back there once; the last to add stores the result.
  EXPECT_EQ(after.bytes.global_read, operands + sums);
  EXPECT_EQ(after.bytes.global_write, sums + 2 * 32 * 64);
  EXPECT_EQ(after.bytes.scratchpad_read, before.bytes.scratchpad_read);
  EXPECT_LT(4 * after.cycles, 3 * before.cycles);
}

TEST(L2, OneTooSmallHelpsNobody) {
  const Machine without = bare(), tiny = with_l2(without, 100);  // no tile fits
  const Shared given(without);
  const Measured before = given.measure(without), after = given.measure(tiny);
  EXPECT_EQ(after.bytes.global_read, before.bytes.global_read);
  EXPECT_EQ(after.bytes.global_write, before.bytes.global_write);
  EXPECT_EQ(after.bytes.l2_read, before.bytes.global_read - given.analysis.added);
}

TEST(L2, SmallerOnesNeverSaveMore) {
  const Shared given(bare());
  int64_t before = given.measure(bare()).bytes.global();
  for (const int64_t bytes : {2048, 8192, 32768, 1 << 20}) {
    const int64_t now = given.measure(with_l2(bare(), bytes)).bytes.global();
    EXPECT_LE(now, before) << bytes;
    before = now;
  }
}

TEST(L2, AKernelFindsWhatTheOneBeforeWrote) {
  const Machine machine = with_l2(bare(), 1 << 20);
  const ProductSize cold{64, 128, 256, false, false, ProductBytes::of(2), false};
  ProductSize warm = cold;
  warm.follows = true;
  const int64_t x = int64_t{64} * 256 * 2, w = int64_t{256} * 128 * 2;
  EXPECT_EQ(best_product(cold, machine, {}).bytes.global_read, x + w);
  EXPECT_EQ(best_product(warm, machine, {}).bytes.global_read, w);
  EXPECT_LE(best_product(warm, machine, {}).cycles, best_product(cold, machine, {}).cycles);
  const MapSize map{int64_t{64} * 1024, 2, 1};  // two inputs, one of them held
  EXPECT_EQ(elementwise(map, machine).bytes.global_read, 2 * 64 * 1024);
  EXPECT_EQ(elementwise(map, bare()).bytes.global_read, 2 * 2 * 64 * 1024);
}

TEST(L2, LawsOfItsBytes) {
  LevelBytes moved;
  moved.global_read = 100, moved.global_write = 50, moved.l2_read = 300, moved.l2_write = 50;
  EXPECT_FALSE(broken_memory_law(moved, {100, 50}, true));
  EXPECT_TRUE(broken_memory_law(moved, {101, 50}, true));
  EXPECT_TRUE(broken_memory_law(moved, {100, 51}, true));
  moved.l2_write = 49;
  EXPECT_TRUE(broken_memory_law(moved, {100, 50}, true));
  EXPECT_FALSE(broken_memory_law(moved, {100, 50}, false));
  moved.l2_write = 50, moved.l2_read = 99;
  EXPECT_TRUE(broken_memory_law(moved, {100, 50}, true));
}

TEST(L2, RankingWithItFindsAPlanNoWorse) {
  const Chain chain = padded(gemm_chain(128, 1024, 512, 512, Activation::gelu));
  const Machine machine = with_l2(bare(), 50 << 20);
  Effort few;
  few.most = 16;
  for (const Holding holding : {Holding::linked, Holding::one_core}) {
    SearchOptions top;
    top.holding = holding;
    const auto known = search(chain, machine, top).best;
    const auto unknown = search(chain, bare(), top).best;
    EXPECT_LE(measure_best(chain, known, machine, few).measure.measured.cycles,
              measure_best(chain, unknown, machine, few).measure.measured.cycles);
  }
}

TEST(L2, AMachineWhoseL2IsFartherThanMemoryIsRefused) {
  try {
    load_machine("h100", {"l2.capacity_bytes=1000", "l2.latency_cycles=661"});
    FAIL() << "not refused";
  } catch (const Error& error) {
    const std::string message = error.diagnostics()[0].message;
    EXPECT_NE(message.find("`l2.latency_cycles` is 661, expected at most"), std::string::npos)
        << message;
  }
}

TEST(Links, ClustersFillSoManyCores) {
  Machine machine =
      load_machine("h100", {"core.count=132", "links.most_cores.16=112", "links.most_cores.8=0"});
  EXPECT_EQ(machine.concurrent_clusters(16), 7);
  EXPECT_EQ(machine.concurrent_clusters(8), 16);
  machine.core.count = 100;
  EXPECT_EQ(machine.concurrent_clusters(16), 6);
}

}  // namespace
}  // namespace fuseflow::cluster
