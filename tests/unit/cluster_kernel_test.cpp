// Kernels of tiles: the form of statements, the verifier, the worked case of ir-spec/tile_cases.md,
// bytes against those that nothing can avoid, values against the reference.
#include <gtest/gtest.h>

#include "cluster/common/terms.h"
#include "cluster/kernels/form.h"
#include "cluster/kernels/kernels.h"
#include "cluster_program.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "machine/load.h"
#include "sim/tiles/conservation.h"
#include "sim/tiles/kernel.h"
#include "sim/tiles/kernel_counts.h"
#include "sim/tiles/timing.h"

namespace fuseflow::cluster {
namespace {

/// One core; rates that divide.
Machine small_machine() {
  Machine machine = load_machine(
      "h100", {"clock_gigahertz=1", "core.count=1", "l2.capacity_bytes=0", "dram.channels=1",
               "dram.bandwidth_gigabytes_per_second=64", "dram.latency_cycles=100",
               "core.scratchpad_latency_cycles=10", "core.register_bytes_per_cycle=0",
               "core.vector_operations_per_cycle=16", "core.special_operations_per_cycle=2",
               "core.comparison_rate_share=1", "core.barrier_cycles=0"});
  return machine;
}

std::string why_no_kernel(const std::string& text) {
  const Program program = parse(text);
  std::string why;
  EXPECT_FALSE(kernel_form(program, program.regions.back().statements.back(), {}, why));
  return why;
}

const char* const kExp =
    "input %x: f32[2, 64] dense,dense = uniform(density=1,seed=1)\n"
    "result %y: f32[2, 64] dense,dense\n"
    "region @y { %y[i, j] = exp(%x[i, j]) }\n";

TEST(Kernel, WorkedCase) {
  const Graph graph = kernel_graph(kernel_form_of(parse(kExp)), {1, 64, 1, 1}, 2);
  EXPECT_EQ(kernel_tile_count(graph), 2);
  const Measured measured = time_tiles(graph, small_machine());
  EXPECT_EQ(measured.cycles, 298);
  EXPECT_EQ(measured.bytes.global_read, 512);
  EXPECT_EQ(measured.bytes.global_write, 512);
  EXPECT_EQ(measured.nodes, 6);
}

TEST(Kernel, ElementwiseWorkCosts) {
  const Graph graph = kernel_graph(kernel_form_of(parse(kExp)), {1, 64, 1, 1}, 2);
  Machine free = small_machine();
  free.core.special_operations_per_cycle = 0;
  EXPECT_LT(time_tiles(graph, free).cycles, time_tiles(graph, small_machine()).cycles);
}

TEST(Kernel, OneCopyWaitsForItsReader) {
  const KernelForm form = kernel_form_of(parse(kExp));
  const Machine machine = small_machine();
  EXPECT_LT(time_tiles(kernel_graph(form, {1, 64, 1, 1}, 2), machine).cycles,
            time_tiles(kernel_graph(form, {1, 64, 1, 1}, 1), machine).cycles);
}

TEST(Kernel, BroadcastOperandsHaveTilesOfTheirOwn) {
  const KernelForm form = kernel_form_of(
      parse("input %x: f32[3, 16, 40] dense,dense,dense = uniform(density=1,seed=1)\n"
            "input %mask: f32[16, 40] dense,dense = uniform(density=1,seed=2)\n"
            "input %row: f32[3, 16] dense,dense = uniform(density=1,seed=3)\n"
            "result %y: f32[3, 16, 40] dense,dense,dense\n"
            "region @y { %y[h, i, j] = %x[h, i, j] * %row[h, i] + %mask[i, j] }\n"));
  EXPECT_EQ(sizes_of(form), (KernelSizes{16, 40, 1, 3}));  // the batch does not change the mask
  const Graph graph = kernel_graph(form, {8, 20, 1, 1}, 2);
  const CompulsoryBytes bytes = compulsory_bytes(graph);
  EXPECT_EQ(bytes.loaded, 4 * (3 * 16 * 40 + 16 * 40 + 3 * 16));
  EXPECT_EQ(bytes.stored, 4 * 3 * 16 * 40);
  const Measured measured = time_tiles(graph, load_machine("h100", {}));
  EXPECT_EQ(measured.bytes.global_read, bytes.loaded);
  EXPECT_EQ(measured.bytes.global_write, bytes.stored);
}

TEST(Kernel, ProductsOfHeadsAreABatch) {
  const KernelForm form = kernel_form_of(
      parse("input %q: f32[24, 3, 20] dense,dense,dense = uniform(density=1,seed=1)\n"
            "input %k: f32[40, 3, 20] dense,dense,dense = uniform(density=1,seed=2)\n"
            "result %s: f32[3, 24, 40] dense,dense,dense\n"
            "region @s { %s[h, i, j] = sum(d) %q[i, h, d] * %k[j, h, d] }\n"));
  EXPECT_TRUE(form.product);
  EXPECT_EQ(sizes_of(form), (KernelSizes{24, 40, 20, 3}));
  const Graph graph = kernel_graph(form, {16, 16, 16, 1}, 2);
  EXPECT_EQ(time_tiles(graph, small_machine()).flops, 3 * 2 * 32 * 48 * 32);
}

TEST(Kernel, SaysWhatHasNoForm) {
  EXPECT_NE(why_no_kernel("input %x: f32[4, 4] dense,compressed = uniform(density=1,seed=1)\n"
                          "result %y: f32[4, 4] dense,dense\n"
                          "region @y { %y[i, j] = relu(%x[i, j]) }\n")
                .find("%x is not dense"),
            std::string::npos);
  EXPECT_NE(why_no_kernel("input %x: f32[4, 4] dense,dense = uniform(density=1,seed=1)\n"
                          "result %y: f32[4] dense\n"
                          "region @y { %y[i] = max(j) %x[i, j] + sum(k) %x[i, k] }\n")
                .find("two reductions"),
            std::string::npos);
}

/// Before the reduction in the text or after it, what is outside of it has tiles without its loop.
TEST(Kernel, WhatIsInsideAndOutsideOfASumHasNoForm) {
  for (const char* value : {"(sum(j:3) %x[i]) + abs(%x[i])", "abs(%x[i]) + sum(j:3) %x[i]",
                            "%z[i] * %x[i] * sum(j:3) %x[i]"}) {
    EXPECT_NE(why_no_kernel("input %x: f32[4] dense = uniform(density=1,seed=1)\n"
                            "input %z: f32[4] dense = uniform(density=1,seed=2)\n"
                            "result %y: f32[4] dense\n"
                            "region @y { %y[i] = " +
                            std::string(value) + " }\n")
                  .find("inside and outside"),
              std::string::npos)
        << value;
  }
}

/// Softmax, a product and a folded activation.
const char* const kProgram =
    "input %x: f32[20, 36] dense,dense = uniform(density=1,seed=1)\n"
    "const %w: f32[36, 24] dense,dense = uniform(density=1,seed=2)\n"
    "temp %m: f32[20] dense\n"
    "temp %e: f32[20, 36] dense,dense\n"
    "temp %s: f32[20] dense\n"
    "temp %p: f32[20, 36] dense,dense\n"
    "temp %h: f32[20, 24] dense,dense\n"
    "temp %t: f32[20, 24] dense,dense\n"
    "result %y: f32[20, 24] dense,dense\n"
    "region @soft {\n"
    "  %m[i] = max(j) %x[i, j]\n"
    "  %e[i, j] = exp(%x[i, j] - %m[i])\n"
    "  %s[i] = sum(j) %e[i, j]\n"
    "  %p[i, j] = %e[i, j] / %s[i]\n"
    "}\n"
    "region @h { %h[i, j] = sum(k) %p[i, k] * %w[k, j] }\n"
    "region @y {\n"
    "  %t[i, j] = tanh(%h[i, j])\n"
    "  %y[i, j] = %t[i, j] * 0.5\n"
    "}\n";

TEST(Kernels, EveryStatementOfAProgram) {
  Program program = parse(kProgram);
  EXPECT_TRUE(make_kernels(program, load_machine("h100", {})).empty());
  ASSERT_EQ(program.regions.size(), 6U);  // four of the softmax, the product, tanh with its factor
  for (const Region& region : program.regions) EXPECT_TRUE(region.graph && region.graph->tiles);
  EXPECT_EQ(program.regions.back().statements.size(), 2U);
  const std::string text = print_program(program);
  EXPECT_EQ(print_program(parse_program({"again", text})), text);
}

/// Outside of its extents a tensor has its fill, not what its statement would compute there.
TEST(Kernels, WhatIsReadOutsideOfItsExtentsIsNotFolded) {
  Program program = parse(
      "input %x: f32[8] dense = uniform(density=1,seed=1)\n"
      "temp %t: f32[4] dense\n"
      "result %y: f32[8] dense\n"
      "region @y {\n"
      "  %t[i:4] = %x[i] + 1\n"
      "  %y[i:8] = %t[i] * %x[i]\n"
      "}\n");
  const Statement& last = program.regions[0].statements[1];
  const TensorId t = find_tensor(program, "t");
  std::string why;
  EXPECT_FALSE(kernel_form(program, last, {{t, &program.regions[0].statements[0]}}, why));
  EXPECT_EQ(why, "%t, which it computes, is read outside of its extents");
  EXPECT_TRUE(make_kernels(program, load_machine("h100", {})).empty());
  EXPECT_EQ(program.regions.size(), 2U);
}

/// kProgram with its kernel as the h100 gets it.
std::string planned_text() {
  Program program = parse(kProgram);
  make_kernels(program, load_machine("h100", {}));
  return print_program(program);
}

TEST(KernelRules, RefusesWhatIsNoKernel) {
  const std::string text = planned_text();
  expect_refused(text, "tiles []", "tiles [m]", "walks no loops");
  expect_refused(text, "tile_load %x[i, j]", "tile_load %x[i]", "subscript");
  expect_refused(text, "tile_load %x[i, j]", "tile_load %x[i, z]", "unknown digit");
  expect_refused(text, "digits=[i:20]", "digits=[i:10]", "index m");
  expect_refused(text, "capacity=4", "capacity=99", "capacity");
  expect_refused(text, "tile_store %m[i]", "tile_store %m[0]", "plain digits");
  expect_refused(text, "reduce max ($x)", "reduce max ($x, $x)", "a factor for each row");
  expect_refused(text, "reduce max ($x)", "reduce max ($x, $x, $x)", "inputs");
  expect_refused(text, "= map exp (", "= gather (", "is not allowed in a kernel");
}

TEST(KernelTerms, ADimensionOfTilesHasAnEnd) {
  constexpr int64_t kMost = kMostTileElements / 2;
  for (const KernelDim dim : {kKernelM, kKernelN, kKernelK, kKernelG}) {
    const auto check = [&](int64_t outer) {
      check_extents({{"o", outer, dim, false}, {"i", kMost / 16, dim, false}});
    };
    EXPECT_NO_THROW(check(16)) << dim;
    EXPECT_THROW(check(17), NoKernel) << dim;
    EXPECT_THROW(check(INT64_MAX / 4), NoKernel) << dim;
  }
}

}  // namespace
}  // namespace fuseflow::cluster
