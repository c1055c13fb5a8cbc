// Estimates against the simulator: FLOPs, bytes and tokens from the data are equal, the bound
// holds, and statistics come near.
#include "estimate/estimate.h"

#include <gtest/gtest.h>

#include "graph/spaces.h"
#include "ir/parse.h"
#include "lower/lower.h"
#include "nodes/spaces.h"
#include "sim/program_run.h"

namespace fuseflow {
namespace {

Program lowered(const std::string& body) {
  return lower_program(parse_program({"test", "fuseflow 1\nprogram \"p\"\n" + body}));
}

void expect_near_simulation(const std::string& body, const Machine& machine = {}) {
  const Program program = lowered(body);
  const ProgramRun run = run_program(program, load_tensors(program), machine, {});
  ASSERT_EQ(run.finish, Finish::done);
  const ProgramEstimate estimate = estimate_from_data(program, load_patterns(program), machine);
  ASSERT_EQ(estimate.regions.size(), run.regions.size());
  for (size_t r = 0; r < run.regions.size(); ++r) {
    const RunResult& real = run.regions[r];
    const RegionEstimate& guess = estimate.regions[r];
    EXPECT_EQ(static_cast<int64_t>(guess.flops), real.flops) << guess.region;
    EXPECT_EQ(static_cast<int64_t>(guess.tokens), real.tokens) << guess.region;
    const auto bytes =
        static_cast<double>(real.dram_read_bytes + real.dram_write_bytes +
                            real.scratchpad_read_bytes + real.scratchpad_write_bytes);
    EXPECT_NEAR(guess.dram_read_bytes + guess.dram_write_bytes + guess.scratchpad_read_bytes +
                    guess.scratchpad_write_bytes,
                bytes, 0.03 * bytes)
        << guess.region;
    EXPECT_LE(guess.bound, static_cast<double>(real.cycles)) << guess.region;
    EXPECT_GE(guess.cycles, guess.bound) << guess.region;
  }
}

const char* const kGraph =
    "input %a: f32[60, 60] dense,compressed facts(finite) = "
    "power_law(shape=[60,60],density=0.06,seed=4)\n";
const char* const kFeatures =
    "input %x: f32[60, 20] dense,compressed facts(finite) = "
    "uniform(shape=[60,20],density=0.2,seed=2)\n"
    "const %w: f32[20, 8] dense,dense facts(finite) = uniform(shape=[20,8],density=1,seed=3)\n";

TEST(Estimate, ElementwiseAndUnion) {
  expect_near_simulation(std::string(kGraph) +
                         "input %b: f32[60, 60] dense,compressed facts(finite) = "
                         "uniform(shape=[60,60],density=0.1,seed=7)\n"
                         "result %y: f32[60, 60] dense,compressed\n"
                         "region @y {\n %y[i, j] = %a[i, j] + %b[i, j]\n}\n");
}

/// The coordinates looked up are those of i, 0 to 7, repeated along j, which has two: half of them
/// are outside of a level of four, and search nothing.
TEST(Estimate, LookUpOfRepeatedCoordinates) {
  expect_near_simulation(R"(
input %b: f32[4] compressed facts(finite) = values(1,2,3,4)
input %c: f32[8, 2] dense,dense facts(finite) = uniform(density=1,seed=1)
result %y: f32[8, 2] dense,dense
region @y {
  %y[i, j] = %c[i, j]
  graph {
    index i: 8
    index j: 2
    phase {
      $root: ref<> = root
      $i: crd<i>, $r: ref<i> = scan ($root)
      $j: crd<i,j>, $rj: ref<i,j> = scan ($r)
      $ij: crd<i,j> = repeat ($i, $j)
      $root_i: ref<i> = repeat ($root, $i)
      $root_ij: ref<i,j> = repeat ($root_i, $j)
      $at: ref<i,j> = locate %b.0 ($root_ij, $ij)
      $v: val<i,j> = array %b ($at)
      write_values %y ($ij, $j, $v)
    }
  }
}
)");
}

TEST(Estimate, IntersectionOfTwoLists) {
  expect_near_simulation(
      std::string(kGraph) +
      "input %b: f32[60, 60] dense,compressed@1,0 facts(finite) = "
      "uniform(shape=[60,60],density=0.1,seed=7)\n"
      "result %y: f32[60, 60] dense,dense\n"
      "region @y {\n order i, j, k\n %y[i, j] = sum(k) %a[i, k] * %b[k, j]\n}\n");
}

TEST(Estimate, UnfusedChain) {
  expect_near_simulation(std::string(kGraph) + kFeatures +
                         "temp %t: f32[60, 20] dense,compressed\n"
                         "result %y: f32[60, 8] dense,dense\n"
                         "region @t {\n %t[i, f] = sum(j) %a[i, j] * %x[j, f]\n}\n"
                         "region @y {\n %y[i, h] = sum(f) %t[i, f] * %w[f, h]\n}\n");
}

TEST(Estimate, RecomputedLayer) {
  expect_near_simulation(std::string(kGraph) + kFeatures +
                         "temp %t: f32[60, 20] dense,compressed\n"
                         "temp %h: f32[60, 8] dense,dense\n"
                         "result %y: f32[60, 8] dense,dense\n"
                         "region @y {\n %t[i, f] = sum(j) %a[i, j] * %x[j, f]\n"
                         " %h[i, h] = sum(f) %t[i, f] * %w[f, h]\n"
                         " %y[i, h] = sum(j) %a[i, j] * %h[j, h]\n}\n");
}

TEST(Estimate, Softmax) {
  expect_near_simulation(
      "input %x: f32[30, 12] dense,dense facts(finite) = uniform(shape=[30,12],density=1,seed=3)\n"
      "temp %m: f32[30] dense\ntemp %e: f32[30, 12] dense,dense\ntemp %s: f32[30] dense\n"
      "result %y: f32[30, 12] dense,dense\n"
      "region @y {\n %m[i] = max(j) %x[i, j]\n %e[i, j] = exp(%x[i, j] - %m[i])\n"
      " %s[i] = sum(j) %e[i, j]\n %y[i, j] = %e[i, j] / %s[i]\n}\n");
}

TEST(Estimate, EmptyTensor) {
  expect_near_simulation(
      "input %a: f32[9, 9] dense,compressed facts(finite) = uniform(shape=[9,9],density=0,seed=1)\n"
      "input %x: f32[9, 4] dense,dense facts(finite) = uniform(shape=[9,4],density=1,seed=3)\n"
      "result %y: f32[9, 4] dense,dense\n"
      "region @y {\n %y[i, f] = sum(j) %a[i, j] * %x[j, f]\n}\n");
}

const char* const kBlocks =
    "input %a: f32[22, 17] dense,compressed[4x5] = uniform(density=0.2, seed=1)\n"
    "input %w: f32[17, 9] dense,dense[5x3] = uniform(density=1, seed=2)\n"
    "temp %m: f32[22] dense[4]\ntemp %t: f32[22, 9] dense,dense[4x3]\n"
    "result %y: f32[22, 9] dense,dense[4x3]\nresult %z: f32[22, 17] dense,compressed[4x5]\n"
    "region @z {\n  %z[i, k] = 2 * %a[i, k]\n}\n"
    "region @y {\n  %t[i, j] = sum(k) %z[i, k] * %w[k, j]\n  %m[i] = max(j) %t[i, j]\n"
    "  %y[i, j] = exp(%t[i, j] - %m[i])\n}\n";

TEST(Estimate, Blocks) {
  Machine machine;
  machine.block = {2, 1, 1, 1, 1, 2, 2};
  expect_near_simulation(kBlocks);
  expect_near_simulation(kBlocks, machine);
}

TEST(Estimate, ABoundHoldsAlsoWhereMemoryTakesTime) {
  Machine machine;
  for (const char* model : {"fixed", "banked", "comal"}) {
    machine.dram.model = model;
    expect_near_simulation(kBlocks, machine);
    expect_near_simulation(std::string(kGraph) + kFeatures +
                               "result %y: f32[60, 20] dense,compressed\n"
                               "region @y {\n %y[i, f] = sum(j) %a[i, j] * %x[j, f]\n}\n",
                           machine);
  }
}

/// A look-up with coordinates outside of the level reads nothing and searches nothing.
TEST(Estimate, LookUpsOutsideOfALevelAreNotCounted) {
  Machine machine;
  machine.dram.model = "fixed";
  for (const char* subscript : {"50*i", "i + j", "2*i + j - 3", "3 - i + 9*j"}) {
    expect_near_simulation(std::string("input %x: f32[400] compressed facts(finite) = "
                                       "uniform(shape=[400],density=0.9,seed=2)\n"
                                       "input %w: f32[8] dense facts(finite) = ones(shape=[8])\n"
                                       "result %y: f32[1000] dense\n"
                                       "region @y {\n %y[i] = sum(j) %w[j] * %x[") +
                               subscript + "]\n}\n",
                           machine);
  }
}

TEST(Estimate, WhatParallelCopiesGiveMerges) {
  for (const char* parallel : {"parallel i = 3 contiguous", "parallel i = 3", "parallel i = 64",
                               "parallel i = 2\n parallel j = 2"}) {
    expect_near_simulation(std::string(kGraph) + kFeatures +
                           "result %y: f32[60, 20] dense,compressed\nregion @y {\n " + parallel +
                           "\n %y[i, f] = sum(j) %a[i, j] * %x[j, f]\n}\n");
    expect_near_simulation(std::string(kGraph) +
                           "input %b: f32[60, 60] dense,compressed facts(finite) = "
                           "uniform(shape=[60,60],density=0.1,seed=7)\n"
                           "temp %t: f32[60, 60] dense,compressed\n"
                           "result %y: f32[60, 60] dense,dense\n"
                           "region @t {\n " +
                           parallel +
                           "\n %t[i, j] = %a[i, j] * %b[i, j]\n}\n"
                           "region @y {\n %y[i, k] = sum(j) %t[i, j] * %a[j, k]\n}\n");
  }
}

TEST(Estimate, AccumulatorOfSeveralLoops) {
  // The loop i of the result is free (nothing inside depends on it), j is listed, k depends on
  // neither.
  for (const char* order : {"p, i, j", "i, p, j", "p, j, i"}) {
    expect_near_simulation(std::string(kGraph) +
                           "input %x: f32[7, 60] dense,dense facts(finite) = dense(seed=2)\n"
                           "result %y: f32[7, 60] dense,dense\n"
                           "region @y {\n order " +
                           order +
                           "\n"
                           " %y[i, j] = sum(p) %x[i, p] * %a[p, j]\n}\n");
  }
  for (const char* result : {"f32[60, 60, 5] dense,compressed,dense|i, j, k",
                             "f32[60, 5, 60] dense,dense,compressed|i, k, j"}) {
    const std::string text = result;
    const std::string format = text.substr(0, text.find('|'));
    const std::string loops = text.substr(text.find('|') + 1);
    std::string body = kGraph;
    body +=
        "input %x: f32[60, 5] dense,dense facts(finite) = dense(seed=2)\n"
        "input %b: f32[60, 60] dense,compressed facts(finite) = "
        "uniform(shape=[60,60],density=0.05,seed=7)\nresult %y: ";
    body.append(format).append("\nregion @y {\n order p, ").append(loops);
    body.append("\n %y[").append(loops).append("] = sum(p) %a[p, i] * %b[p, j] * %x[p, k]\n}\n");
    expect_near_simulation(body);
  }
}

TEST(Estimate, DenseLookUpByAnOuterLoopIsNeverAbsent) {
  // q is looked up by h inside of i, whose extent is larger: that loop's coordinates are not meant.
  const Program program = lowered(
      "input %q: f32[9, 2, 4] dense,dense,dense facts(finite) = dense(seed=1)\n"
      "result %y: f32[2, 9] dense,dense\n"
      "region @y {\n order h, i, l\n %y[h, i] = sum(l) %q[i, h, l] * 2\n}\n");
  const Graph& graph = *program.regions[0].graph;
  const Spaces spaces = compute_spaces(graph, graph_tensors(program));
  for (size_t s = 0; s < graph.streams.size(); ++s) {
    EXPECT_FALSE(spaces.may_be_absent[s]) << graph.streams[s].name;
  }
}

TEST(Estimate, StatisticsComeNear) {
  const Program program = lowered(
      "input %a: f32[400, 400] dense,compressed facts(finite) = "
      "uniform(shape=[400,400],density=0.02,seed=4)\n"
      "input %x: f32[400, 50] dense,compressed facts(finite) = "
      "uniform(shape=[400,50],density=0.1,seed=2)\n"
      "temp %t: f32[400, 50] dense,compressed\n"
      "const %w: f32[50, 8] dense,dense facts(finite) = uniform(shape=[50,8],density=1,seed=3)\n"
      "result %y: f32[400, 8] dense,dense\n"
      "region @y {\n %t[i, f] = sum(j) %a[i, j] * %x[j, f]\n"
      " %y[i, h] = sum(f) %t[i, f] * %w[f, h]\n}\n");
  const TensorData data = load_patterns(program);
  const ProgramEstimate exact = estimate_from_data(program, data, {});
  const ProgramEstimate guess =
      estimate_from_statistics(program, estimate::statistics_of(program, data), {});
  EXPECT_NEAR(guess.total.flops, exact.total.flops, 0.05 * exact.total.flops);
  EXPECT_NEAR(guess.total.dram_read_bytes, exact.total.dram_read_bytes,
              0.05 * exact.total.dram_read_bytes);
}

/// Rows of a graph that are reached through its own entries, or those of a copy of it: the edges
/// point where they like, so a row is met as often as others name it, not in proportion to its own
/// length.
TEST(Estimate, StatisticsOfNeighboursOfNeighbours) {
  for (const char* first : {"a", "b"}) {
    std::string text;
    for (const char* graph : {"a", "b"}) {
      text += "input %" + std::string(graph) +
              ": f32[500, 500] dense,compressed facts(finite) = "
              "power_law(shape=[500,500],density=0.02,seed=4)\n";
    }
    const Program program = lowered(
        text +
        "input %x: f32[500, 8] dense,dense facts(finite) = uniform(shape=[500,8],density=1,seed=2)"
        "\ntemp %t: f32[500, 8] dense,dense\nresult %y: f32[500, 8] dense,dense\n"
        "region @y {\n place %t in %y = recompute\n %t[i, f] = sum(j) %" +
        first + "[i, j] * %x[j, f]\n %y[i, f] = sum(j) %a[i, j] * %t[j, f]\n}\n");
    const TensorData data = load_patterns(program);
    const ProgramEstimate exact = estimate_from_data(program, data, {});
    const ProgramEstimate guess =
        estimate_from_statistics(program, estimate::statistics_of(program, data), {});
    EXPECT_NEAR(guess.total.flops, exact.total.flops, 1e-6 * exact.total.flops) << first;
    EXPECT_NEAR(guess.total.dram_read_bytes, exact.total.dram_read_bytes,
                1e-4 * exact.total.dram_read_bytes)
        << first;
  }
}

/// Rows of `x` that are gathered from DRAM, in an array that fits its open rows and in one that
/// does not, with long refreshes and without.
TEST(Estimate, RowsAndRefreshesOfBanks) {
  for (const auto& [extent, density] : {std::pair{"1000", "0.04"}, std::pair{"20000", "0.002"}}) {
    const Program program =
        lowered("input %a: f32[100, " + std::string(extent) +
                "] dense,compressed facts(finite) = uniform(density=" + density +
                ", seed=4)\n"
                "input %x: f32[" +
                extent +
                ", 16] dense,dense facts(finite) = uniform(density=1, seed=2)\n"
                "result %y: f32[100, 16] dense,dense\n"
                "region @y {\n order i, f, j\n %y[i, f] = sum(j) %a[i, j] * %x[j, f]\n}\n");
    for (const int64_t refresh : {1, 160000}) {
      Machine machine;
      machine.dram.model = "banked";
      machine.dram.latency_cycles = 100;
      machine.dram.timing.refresh_ps = refresh;
      const ProgramRun run = run_program(program, load_tensors(program), machine, {});
      const auto cycles = static_cast<double>(run.regions[0].cycles);
      const double guess =
          estimate_from_data(program, load_patterns(program), machine).total.cycles;
      EXPECT_NEAR(guess, cycles, 0.12 * cycles) << extent << ", " << refresh;
    }
  }
}

}  // namespace
}  // namespace fuseflow
