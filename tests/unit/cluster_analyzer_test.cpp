// Hand-computed traffic. The chain is M=32, N=64, K=48, L=32 in tiles of 16 on one core, so the
// steps are M 2, N 4, K 3, L 2; a f16 tile is 16*16*2 = 512 bytes and a f32 one 1024.
#include "cluster/chain/analyzer.h"
#include "cluster/chain/on_chip.h"

#include <gtest/gtest.h>

#include "machine/load.h"
#include "support/error.h"

namespace fuseflow::cluster {
namespace {

constexpr int64_t kTile = 512;
constexpr int64_t kPartial = 1024;

Plan small_plan(const char* loops) {
  Plan plan;
  plan.schedule = LoopSchedule::parse(loops);
  plan.tile.value = {16, 16, 16, 16};
  return plan;
}

Chain small_chain() {
  return gemm_chain(32, 64, 48, 32, Activation::relu);
}

/// With the capacities of rule 5 alone, as of a machine for which no kernels are generated.
Machine h100() {
  Machine machine = load_machine("h100", {});
  machine.core.matrix_shapes[1] = {};
  return machine;
}

// MLNK: C of a row of tiles is made in the first L step and read in the second, so all N = 4 tiles
// of it are held; E of a tile is complete when N ends.
//   A: K 3 new tiles, repeated by N 4 and M 2 (L does not repeat the first product) = 24 tiles
//   B: K 3 * N 4 * M 2 = 24 tiles;  D: N 4 * L 2 * M 2 = 16 tiles;  E: M 2 * L 2 = 4 tiles
//   read 64 * 512 = 32768, written 4 * 512 = 2048
TEST(Analyzer, OrderMlnkHoldsAllOfC) {
  const Analysis a = analyze(small_chain(), small_plan("MLNK"), h100());
  EXPECT_EQ(a.visits.a_loads, 24);
  EXPECT_EQ(a.visits.b_loads, 24);
  EXPECT_EQ(a.visits.d_loads, 16);
  EXPECT_EQ(a.visits.e_tiles, 4);
  EXPECT_EQ(a.core.global_read, 64 * kTile);
  EXPECT_EQ(a.core.global_write, 4 * kTile);
  EXPECT_EQ(a.capacity.c_tiles_held, 4);
  EXPECT_EQ(a.capacity.c.registers, 4 * kTile);
  EXPECT_EQ(a.capacity.e_tiles_held, 1);
  EXPECT_EQ(a.visits.e_respills, 0);
  EXPECT_EQ(a.core.link, 0);
}

// MNLK: one C tile is used by both L steps at once; E of a row of tiles (L 2) stays partial over
// N. Same loads; a partial E tile is put back after each of the first 3 N steps and fetched before
// each of the last 3: M 2 * L 2 * 3 = 12 times.
TEST(Analyzer, OrderMnlkLeavesPartialE) {
  const Analysis a = analyze(small_chain(), small_plan("MNLK"), h100());
  EXPECT_EQ(a.visits.a_loads, 24);
  EXPECT_EQ(a.visits.b_loads, 24);
  EXPECT_EQ(a.visits.d_loads, 16);
  EXPECT_EQ(a.core.global_read, 64 * kTile);
  EXPECT_EQ(a.core.global_write, 4 * kTile);
  EXPECT_EQ(a.capacity.c_tiles_held, 1);
  EXPECT_EQ(a.capacity.e_tiles_held, 2);
  EXPECT_EQ(a.capacity.e.registers, 2 * kPartial);
  EXPECT_EQ(a.visits.e_respills, 12);
}

// Operands and accumulators. 24 products of the first GEMM (M 2 N 4 K 3) and 16 of the second (M 2
// N 4 L 2), each reading two f16 tiles and reading and writing one f32 accumulator.
//   scratchpad written: 64 loaded tiles + 4 staged E tiles = 68 * 512
//   scratchpad read: (24 + 16) * 2 tiles, less C from registers 16, + 4 staged = 68 * 512
//   registers: 40 * 2 * 1024, + C written 8 and read 16 times 512
TEST(Analyzer, ScratchpadAndRegisterTraffic) {
  const Analysis a = analyze(small_chain(), small_plan("MLNK"), h100());
  EXPECT_EQ(a.visits.first_multiplies, 24);
  EXPECT_EQ(a.visits.second_multiplies, 16);
  EXPECT_EQ(a.core.scratchpad_write, 68 * kTile);
  EXPECT_EQ(a.core.scratchpad_read, 68 * kTile);
  EXPECT_EQ(a.core.registers, 40 * (2 * kPartial) + (8 + 16) * kTile);
  EXPECT_EQ(a.core_flops, 2 * 16 * 16 * 16 * 40);
}

// A loop that does not touch a tensor and encloses only loops that do not either leaves its tile
// where it is: with K and N spatial of one step each, A and B are loaded once a cluster.
TEST(Analyzer, TilesStayUnderLoopsThatDoNotTouchThem) {
  Plan plan = small_plan("LM");
  plan.tile.value = {16, 64, 16, 16};
  const Chain chain = gemm_chain(32, 64, 16, 32, Activation::relu);
  const Analysis a = analyze(chain, plan, h100());
  EXPECT_EQ(a.visits.a_loads, 2);  // M 2
  EXPECT_EQ(a.visits.b_loads, 1);  // neither M nor L touches B
  EXPECT_EQ(a.visits.d_loads, 2);  // L 2 outside M 2, which does not touch D
  EXPECT_EQ(a.capacity.c_tiles_held, 2);
}

// One tensor over several levels. Accumulators 2 * 1024 and 1200 free bytes of registers; two
// copies of three 512-byte tiles and 500 free bytes of scratchpad; C needs 2048 bytes.
TEST(Analyzer, GreedySpillSplitsC) {
  Machine machine = h100();
  machine.core.register_bytes = 2048 + 1200;
  machine.core.scratchpad_bytes = 3072 + 500;
  const Plan plan = small_plan("MLNK");
  const Chain chain = small_chain();
  const Capacity c = capacity_of(chain, plan, steps_of(chain, plan), machine);
  // two copies of each buffer leave 348 bytes without a place on chip, one copy leaves none
  EXPECT_EQ(c.stages, 1);
  EXPECT_EQ(c.c.registers, 1200);
  EXPECT_EQ(c.c.scratchpad, 848);
  EXPECT_TRUE(c.fits());
  machine.core.scratchpad_bytes = 1536 + 500;
  const Capacity less = capacity_of(chain, plan, steps_of(chain, plan), machine);
  EXPECT_EQ(less.c.scratchpad, 500);
  EXPECT_EQ(less.c.global, 348);
  EXPECT_FALSE(less.fits());
  // Spilled bytes go to global memory once for each of the 2 rows and come back for each L step.
  const Analysis a = analyze(chain, plan, machine);
  EXPECT_EQ(a.core.global_write, 4 * kTile + 2 * int64_t{348});
  EXPECT_EQ(a.core.global_read, 64 * kTile + 4 * int64_t{348});
}

// cls_k = 2: after the all-exchange both cores of a group hold the same C, so one can keep what
// the other has no room for; it comes over the link at each use.
TEST(Analyzer, LinkedScratchpadsTakeWhatACoreCannotHold) {
  const Chain chain = gemm_chain(16, 64, 32, 64, Activation::relu);
  Plan plan = small_plan("LNK");
  plan.shape = {1, 1, 2, 2};
  Machine machine = h100();
  // Registers take none of C; buffers 3 * 512, two receive slots of 16*16/2*4 = 512 bytes.
  machine.core.register_bytes = 2048;
  machine.core.scratchpad_bytes = 1536 + 1024 + 1500;
  const ChainSteps steps = steps_of(chain, plan);
  const Capacity c = capacity_of(chain, plan, steps, machine);
  EXPECT_EQ(c.c.scratchpad, 1500);
  EXPECT_EQ(c.c.links, 2048 - 1500);
  EXPECT_TRUE(c.fits());
  EXPECT_FALSE(capacity_of(chain, plan, steps, machine, Holding::one_core).fits());
  // Per core over links: all-exchange of N 4 tiles, 1/2 * 256 elements in f32 and as many in f16;
  // and the 548 bytes for each of the L 2 steps.
  const Analysis a = analyze(chain, plan, machine);
  EXPECT_EQ(a.core.link, 4 * 128 * (4 + 2) + 2 * 548);
}

// N over 4 clusters: each adds its E to memory in f32; the last of them reads the sums, and leaves
// zeros and E.
TEST(Analyzer, ClustersAlongNAddInMemory) {
  const Analysis a = analyze(small_chain(), small_plan("MLK"), h100());
  EXPECT_EQ(a.steps.clusters, 4);
  EXPECT_EQ(a.core.global_write, 4 * kPartial);
  EXPECT_EQ(a.settled.global_read, 4 * kPartial);
  EXPECT_EQ(a.settled.global_write, 4 * kPartial + 4 * kTile);
  EXPECT_EQ(a.total.global_write, 4 * (4 * kPartial) + 4 * kPartial + 4 * kTile);
}

// As kernels are built, C is in the scratchpad, whatever registers are left, beside copies that all
// begin at multiples of 1,024: of A, B and D 4 * 512 each, 4 tiles of C 2,048, 16 bytes and two
// barriers a copy. Partial E is not held.
TEST(Analyzer, KernelsHoldCInTheScratchpad) {
  const Machine machine = load_machine("h100", {});
  const Chain chain = small_chain();
  const Plan plan = small_plan("MLNK");
  const ChainSteps steps = steps_of(chain, plan);
  const Capacity built = capacity_built(chain, plan, steps, machine);
  EXPECT_TRUE(built.fits());
  EXPECT_EQ(built.stages, 4);
  EXPECT_EQ(built.c.registers, 0);
  EXPECT_EQ(built.c.scratchpad, 4 * kTile);
  EXPECT_EQ(analyze(chain, plan, machine).capacity.c.scratchpad, 4 * kTile);
  Machine small = machine;
  small.core.scratchpad_bytes = 4 * 2048 + 16 + 3 * 8 * 8;
  EXPECT_EQ(capacity_built(chain, plan, steps, small).stages, 4);
  --small.core.scratchpad_bytes;
  EXPECT_EQ(capacity_built(chain, plan, steps, small).stages, 3);
  small.core.scratchpad_bytes = 3 * 1024 + 2048;
  EXPECT_TRUE(capacity_of(chain, plan, steps, small).fits());
  EXPECT_FALSE(capacity_built(chain, plan, steps, small).fits());
  const Plan partial = small_plan("MNLK");
  EXPECT_FALSE(capacity_built(chain, partial, steps_of(chain, partial), machine).fits());
}

// Bias of both products and a residual. Bias of C: 32 bytes for each of 8 C tiles; bias of E: 32
// for each of 4 E tiles; residual: 4 tiles.
TEST(Analyzer, BiasAndResidual) {
  Chain chain = small_chain();
  chain.bias0 = 1;
  chain.bias1 = chain.residual = true;
  const Analysis a = analyze(chain, small_plan("MLNK"), h100());
  EXPECT_EQ(a.core.global_read, 64 * kTile + int64_t{8} * 32 + int64_t{4} * 32 + 4 * kTile);
}

// Gated, both branches in every core: B twice; A again for the second branch (K has 3 steps).
TEST(Analyzer, GatedChainsLoadBothBranches) {
  Chain chain = gated_ffn(32, 64, 48);
  Plan plan = small_plan("MLNK");
  plan.way = GatedWay::sequential;
  const Analysis a = analyze(chain, plan, h100());
  EXPECT_EQ(a.visits.a_loads, 48);
  EXPECT_EQ(a.visits.b_loads, 48);
  plan.way = GatedWay::split;
  plan.shape = {1, 1, 2, 2};
  chain.size[Dim::l] = 64;
  const Analysis b = analyze(chain, plan, h100());
  EXPECT_EQ(b.visits.a_loads, 24);  // each of two cores loads A and its own branch's B
  EXPECT_EQ(b.visits.b_loads, 24);
}

TEST(Machine, OneFileForAllTools) {
  const Machine machine = load_machine("h100", {"core.count=16"});
  EXPECT_EQ(machine.core.count, 16);
  EXPECT_EQ(machine.core.scratchpad_bytes, 227 * 1024);
  EXPECT_EQ(machine.link_latency(16), 203);
  EXPECT_GT(machine.link_bytes_per_cycle(2), machine.link_bytes_per_cycle(16));
  EXPECT_EQ(parse_machine(print_machine(machine), "m.toml").core.count, 16);
  try {
    parse_machine("[core]\ncuont = 3\n", "m.toml");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.diagnostics()[0].where.line, 2);
    EXPECT_NE(error.diagnostics()[0].message.find("did you mean `core.count`"), std::string::npos);
  }
  EXPECT_THROW(load_machine("h100", {"core.count=-1"}), Error);
}

}  // namespace
}  // namespace fuseflow::cluster
