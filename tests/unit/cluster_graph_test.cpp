// Graphs of tiles as part of the IR: text form, rules, and runs through the simulator's interface.
#include <gtest/gtest.h>

#include "cluster/chain/lower_plan.h"
#include "cluster/chain/recognize.h"
#include "cluster_program.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "machine/load.h"
#include "sim/program_run.h"
#include "sim/report/check.h"
#include "sim/report/csv.h"
#include "sim/report/invariants.h"
#include "support/error.h"

namespace fuseflow::cluster {
namespace {

/// A chain of extents that no tile divides evenly but for its padding, with everything that a graph
/// can have: two branches, exchange, shuffle, reduce-scatter, bias and residual.
Chain full_chain() {
  Chain chain = gated_ffn(60, 120, 50);
  chain.size[Dim::l] = 100;
  chain.bias0 = 2;
  chain.bias1 = chain.residual = true;
  chain.bytes = ElementBytes::of(4);
  return chain;
}

struct Planned {
  Program program;
  TensorId e = -1;
};

Planned plan(GatedWay way, const char* loops, const Chain& chain = full_chain()) {
  Planned planned;
  planned.program = chain_program(chain);
  const FoundChain found = find_chains(planned.program).at(0);
  Plan plan;
  plan.schedule = LoopSchedule::parse(loops);
  plan.shape = {1, 4, 2, 4};
  plan.tile.value = {32, 16, 16, 16};
  plan.way = way;
  const Chain wide = padded(found.chain);
  const Analysis analysis = analyze(wide, plan, load_machine("h100"));
  EXPECT_EQ(obstacle_of(wide, plan, analysis.steps), Obstacle::none);
  EXPECT_TRUE(attach_plan(planned.program, found.statements, {},
                          lower_plan(found.form, wide, plan, analysis)));
  planned.e = found.form.store.tensor;
  return planned;
}

TEST(TileText, PrintsWhatItParses) {
  for (const GatedWay way : {GatedWay::split, GatedWay::sequential}) {
    const std::string text = print_program(plan(way, "LK").program);
    EXPECT_NE(text.find("tiles [l, k] bytes=4 way="), std::string::npos);
    EXPECT_EQ(print_program(parse_program({"again", text})), text);
  }
}

TEST(TileRun, PaddedTilesOfRealOperandsGiveTheReference) {
  for (const GatedWay way : {GatedWay::split, GatedWay::sequential}) {
    for (const char* loops : {"LK", "MLNK", "MNLK", "NLK"}) {
      const Planned planned = plan(way, loops);
      // The second has cores without limits.
      for (const Machine& machine :
           {load_machine("h100"), load_machine("ideal", {"core.count=0"})}) {
        const ProgramRun run =
            run_program(planned.program, load_tensors(planned.program), machine, {});
        const auto checked = check_reference(planned.program, run.data, {planned.e},
                                             {.tolerance = 1e-5, .threads = 1})
                                 .tensors;
        EXPECT_TRUE(checked.at(0).passes) << loops << " " << machine.name;
        EXPECT_NO_THROW(assert_invariants(planned.program, run));
      }
    }
  }
}

// A strided and padded convolution of a batch: the rows are made of three loops, K of three.
TEST(TileRun, ConvolutionsReadTheirImageThroughWindows) {
  const Program program = parse_program({"test", R"(fuseflow 1
input %p: f32[2, 5, 9, 9] dense,dense,dense,dense = dense(seed=1)
const %k1: f32[20, 5, 3, 3] dense,dense,dense,dense = dense(seed=2)
const %k2: f32[7, 20, 1, 1] dense,dense,dense,dense@1,0,3,2 = dense(seed=3)
temp %c: f32[2, 20, 5, 5] dense,dense,dense,dense
result %q: f32[2, 7, 5, 5] dense,dense,dense,dense@2,0,1,3
region @q {
  %c[b, o, h, w] = relu(sum(i, y, x) %p[b, i, 2*h + y - 1, 2*w + x - 1] * %k1[o, i, y, x])
  %q[b, o, h, w] = sum(i, y:1, x:1) %c[b, i, h + y, w + x] * %k2[o, i, y, x]
}
)"});
  const FoundChain found = find_chains(program).at(0);
  EXPECT_EQ(found.chain.kind, ChainKind::conv);
  EXPECT_EQ(found.chain.size, (Extents{{50, 20, 45, 7}}));
  Plan plan;
  plan.schedule = LoopSchedule::parse("LK");
  plan.shape = {2, 2, 1, 1};
  plan.tile.value = {16, 16, 16, 16};
  const Chain wide = padded(found.chain);
  Program planned = program;
  ASSERT_TRUE(
      attach_plan(planned, found.statements, {},
                  lower_plan(found.form, wide, plan, analyze(wide, plan, load_machine("h100")))));
  const ProgramRun run = run_program(planned, load_tensors(planned), load_machine("h100"), {});
  const CheckSettings settings{.tolerance = 1e-5, .threads = 1};
  const auto checked = check_reference(planned, run.data, {found.form.store.tensor}, settings);
  EXPECT_TRUE(checked.tensors.at(0).passes);
}

TEST(TileRun, LimitsAndCapacities) {
  const Planned planned = plan(GatedWay::sequential, "LK");
  RunOptions options;
  options.max_cycles = 10;
  const ProgramRun run =
      run_program(planned.program, load_tensors(planned.program), load_machine("h100"), options);
  EXPECT_EQ(run.finish, Finish::max_cycles);
  EXPECT_THROW(run_program(planned.program, load_tensors(planned.program),
                           load_machine("h100", {"core.scratchpad_bytes=4096"}), {}),
               Error);
  EXPECT_THROW(run_program(planned.program, load_tensors(planned.program),
                           load_machine("h100", {"core.count=4"}), {}),
               Error);
}

TEST(TileRules, RefusesWhatIsNoChain) {
  const std::string text = print_program(plan(GatedWay::sequential, "LK").program);
  expect_refused(text, "cluster=4 digits=[o:100]", "cluster=1 digits=[o:100]", "geometry");
  expect_refused(text, "cluster=4 digits=[j:120]", "cluster=3 digits=[j:120]", "index n");
  expect_refused(text, "digits=[j:120]", "digits=[j:60]", "index n");
  expect_refused(text, "way=sequential", "way=split", "branch");
  expect_refused(text, " way=sequential", "", "two branches");
  expect_refused(text, "tiles [l, k]", "tiles [l, l, k]", "twice");
  expect_refused(text, "held=[", "held=[1", "holds");
  expect_refused(text, "tile_load %x[i, k]", "tile_load %x[i, z]", "unknown digit");
  expect_refused(text, "tile_load %x[i, k]", "tile_load %x[i, j]", "subscript");
  expect_refused(text, "tile_load %x[i, k]", "tile_load %x[i]", "subscript");
  expect_refused(text, "tile_store %y[i, o]", "tile_store %y[i, i]", "plain digits");
  expect_refused(text, "= gather (", "= tile_hold (", "expected");
  expect_refused(text, "capacity=4", "capacity=99", "capacity");
}

}  // namespace
}  // namespace fuseflow::cluster
