// Blocked programs give the unblocked reference's results: every operator works on blocks, also on
// those that the extents cut.
#include <gtest/gtest.h>

#include "../property/check.h"
#include "sim/fast_executor.h"

namespace fuseflow {
namespace {

struct Case {
  const char* name;
  const char* text;  ///< `B` stands for the formats' blocks, see formatted()
};

/// {0} and {1} are blocked dimensions, {2} an unblocked one: [4x3] of {0}x{1} and so on.
const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {"elementwise",
       "input %x: f32[N, M] dense,dense[4x3] = uniform(density=1, seed=1)\n"
       "input %b: f32[M] dense[3] = uniform(density=1, seed=2)\n"
       "result %y: f32[N, M] dense,dense[4x3]\n"
       "region @y {\n  %y[i, j] = relu(%x[i, j] - %b[j]) / 2 + exp(%x[i, j])\n}\n"},
      {"transposed",
       "input %x: f32[N, M] dense,dense[4x3] = uniform(density=1, seed=1)\n"
       "result %y: f32[M, N] dense,dense[3x4]\n"
       "region @y {\n  %y[j, i] = 2 * %x[i, j]\n}\n"},
      {"broadcast",
       "input %b: f32[M] dense[3] = uniform(density=1, seed=2)\n"
       "input %x: f32[N, M] dense,dense[4x3] = uniform(density=1, seed=1)\n"
       "result %y: f32[N, M] dense,dense[4x3]\n"
       "region @y {\n  %y[i, j] = %b[j] + 0 * %x[i, j]\n}\n"},
      {"matmul",
       "input %x: f32[N, K] dense,dense[4x5] = uniform(density=1, seed=1)\n"
       "input %w: f32[K, M] dense,dense[5x3] = uniform(density=1, seed=2)\n"
       "result %y: f32[N, M] dense,dense[4x3]\n"
       "region @y {\n  %y[i, j] = sum(k) %x[i, k] * %w[k, j]\n}\n"},
      {"matmul_inner",
       "input %x: f32[N, K] dense,dense[4x5] = uniform(density=1, seed=1)\n"
       "input %w: f32[K, M] dense,dense[5x3] = uniform(density=1, seed=2)\n"
       "result %y: f32[N, M] dense,dense[4x3]\n"
       "region @y {\n  order i, j, k\n  %y[i, j] = relu(sum(k) (%x[i, k] - 1) * (%w[k, j] + "
       "1))\n}\n"},
      {"spmm",
       "input %a: f32[N, K] dense,compressed[4x5] = uniform(density=0.2, seed=1)\n"
       "input %w: f32[K, M] dense,dense[5x3] = uniform(density=1, seed=2)\n"
       "result %y: f32[N, M] dense,dense[4x3]\n"
       "region @y {\n  %y[i, j] = sum(k) %a[i, k] * %w[k, j]\n}\n"},
      {"one_side",
       "input %a: f32[N, K] dense,compressed[4x1] = uniform(density=0.2, seed=1)\n"
       "input %w: f32[K, M] dense,dense[1x3] = uniform(density=1, seed=2)\n"
       "result %y: f32[N, M] dense,dense[4x3]\n"
       "region @y {\n  %y[i, j] = sum(k) %a[i, k] * %w[k, j]\n}\n"},
      {"union_compressed",
       "input %a: f32[N, K] dense,compressed[4x5] = uniform(density=0.1, seed=1)\n"
       "input %b: f32[N, K] compressed,compressed[4x5] = uniform(density=0.1, seed=2)\n"
       "result %y: f32[N, K] compressed,compressed[4x5]\n"
       "region @y {\n  %y[i, k] = %a[i, k] + 2 * %b[i, k]\n}\n"},
      {"rows",
       "input %x: f32[N, M] dense,dense[4x3] = uniform(density=1, seed=1)\n"
       "result %m: f32[N] dense[4]\nresult %s: f32[N] dense[4]\nresult %a: f32[N] dense[4]\n"
       "result %c: f32[N] dense[4]\nresult %p: f32[M] dense[3]\n"
       "region @y {\n  %m[i] = max(j) (%x[i, j] - 2)\n  %s[i] = sum(j) exp(%x[i, j])\n"
       "  %a[i] = mean(j) (%x[i, j] * %x[i, j])\n  %c[i] = min(j) (%x[i, j] + 1)\n"
       "  %p[j] = sum(i) (%x[i, j] + 1)\n}\n"},
      {"softmax",
       "input %x: f32[N, M] dense,dense[4x3] = uniform(density=1, seed=1)\n"
       "temp %m: f32[N] dense[4]\ntemp %e: f32[N, M] dense,dense[4x3]\ntemp %d: f32[N] dense[4]\n"
       "result %y: f32[N, M] dense,dense[4x3]\n"
       "region @y {\n  %m[i] = max(j) %x[i, j]\n  %e[i, j] = exp(%x[i, j] - %m[i])\n"
       "  %d[i] = sum(j) %e[i, j]\n  %y[i, j] = %e[i, j] / %d[i]\n}\n"},
      {"layernorm",
       "input %x: f32[N, M] dense,dense[4x3] = uniform(density=1, seed=1)\n"
       "input %g: f32[M] dense[3] = uniform(density=1, seed=2)\n"
       "temp %m: f32[N] dense[4]\ntemp %c: f32[N, M] dense,dense[4x3]\ntemp %v: f32[N] dense[4]\n"
       "result %y: f32[N, M] dense,dense[4x3]\n"
       "region @y {\n  %m[i] = mean(j) %x[i, j]\n  %c[i, j] = %x[i, j] - %m[i]\n"
       "  %v[i] = mean(j) (%c[i, j] * %c[i, j])\n"
       "  %y[i, j] = %c[i, j] / sqrt(%v[i] + 0.001) * %g[j]\n}\n"},
      {"attention",
       "input %q: f32[N, M] dense,dense[4x3] = uniform(density=1, seed=1)\n"
       "input %k: f32[K, M] dense,dense[5x3] = uniform(density=1, seed=2)\n"
       "input %v: f32[K, M] dense,dense[5x3] = uniform(density=1, seed=3)\n"
       "input %a: f32[N, K] dense,compressed[4x5] = uniform(density=0.3, seed=4)\n"
       "temp %s: f32[N, K] dense,compressed[4x5]\ntemp %m: f32[N] dense[4]\n"
       "temp %e: f32[N, K] dense,compressed[4x5]\ntemp %d: f32[N] dense[4]\n"
       "result %y: f32[N, M] dense,dense[4x3]\n"
       "region @y {\n  %s[i, k] = %a[i, k] * sum(f) %q[i, f] * %k[k, f]\n  %m[i] = max(k) %s[i, "
       "k]\n"
       "  %e[i, k] = %a[i, k] * exp(%s[i, k] - %m[i])\n  %d[i] = 1 + sum(k) %e[i, k]\n"
       "  %y[i, g] = sum(k) (%e[i, k] / %d[i]) * %v[k, g]\n}\n"},
      {"phases",
       "input %a: f32[N, N] dense,compressed[4x4] = uniform(density=0.2, seed=1)\n"
       "input %x: f32[N, M] dense,dense[4x3] = uniform(density=1, seed=2)\n"
       "temp %u: f32[N, M] dense,dense[4x3]\nresult %y: f32[N, M] dense,dense[4x3]\n"
       "region @y {\n  place %u = scratchpad\n  %u[i, f] = sum(j) %a[i, j] * %x[j, f]\n"
       "  %y[i, f] = sum(j) %a[i, j] * %u[j, f]\n}\n"},
      {"masked",
       "input %a: f32[N, K] dense,compressed[4x5] fill(1) facts(finite, nonnegative) = "
       "uniform(density=0.4, seed=4)\n"
       "input %d: f32[M, N, K] dense,dense,dense[3x4x5] = uniform(density=1, seed=1)\n"
       "result %y: f32[M, N, K] dense,dense,compressed[3x4x5] fill(-inf)\n"
       "region @y {\n  %y[i, j, k] = where(%a[j, k] > 0.5, -inf, %d[i, j, k])\n}\n"},
      {"constant_over_a_loop",
       "input %x: f32[N] dense[4] = uniform(density=1, seed=1)\n"
       "input %w: f32[N, M] dense,dense[4x3] = uniform(density=1, seed=2)\n"
       "result %y: f32[N] dense[4]\n"
       "region @y {\n  %y[i] = sum(j) (%x[i] + 0 * %w[i, j])\n}\n"},
  };
  return kCases;
}

std::string formatted(std::string text, int n, int m, int k) {
  const std::pair<const char*, int> extents[] = {{"[N", n},   {"[M", m},   {"[K", k},  {", N]", n},
                                                 {", M]", m}, {", K]", k}, {", N,", n}};
  for (const auto& [name, extent] : extents) {
    const std::string from = name;
    std::string to = from;
    to.replace(from.find_first_of("NMK"), 1, std::to_string(extent));
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
      text.replace(at, from.size(), to);
    }
  }
  return "fuseflow 1\nprogram \"t\"\n" + text;
}

class Blocked : public ::testing::TestWithParam<size_t> {};

TEST_P(Blocked, AgreesWithTheReference) {
  const Case& c = cases()[GetParam()];
  for (const auto& [n, m, k] :
       {std::tuple(8, 6, 10), std::tuple(7, 8, 11), std::tuple(1, 1, 2), std::tuple(13, 3, 6)}) {
    for (const bool parallel : {false, true}) {
      Program program = parse_program(SourceText{"<test>", formatted(c.text, n, m, k)});
      if (parallel) program.regions[0].schedule.parallel = {{"i", 2, false}};
      testing::CheckOptions options;
      options.tolerance = 1e-5;
      const auto result = testing::check_program(program, testing::load_inputs(program), options);
      EXPECT_EQ(result.failure, "") << c.name << " " << n << " " << m << " " << k;
      const Program lowered = lower_program(program);
      EXPECT_EQ(print_program(parse_program(SourceText{"<test>", print_program(lowered)})),
                print_program(lowered));
    }
  }
}

/// Machines whose blocks cost differently, with bounded and unbounded FIFOs.
std::vector<Machine> machines() {
  std::vector<Machine> result{Machine{}};
  Machine slow;
  slow.block = {2, 1, 1, 1, 1, 2, 2};
  for (const int64_t depth : {0, 3, 8}) {
    slow.fifo_depth = depth;
    result.push_back(slow);
  }
  return result;
}

void compare_executors(const Program& program, const Machine& machine, const std::string& name) {
  TensorData data{testing::load_inputs(program)};
  for (const Region& region : program.regions) {
    RunOptions options;
    options.record_streams = true;
    const RunResult naive = interpret_graph(program, *region.graph, data, machine, options);
    for (const uint32_t chunk : {8192U, 1U, 3U}) {
      options.threads = chunk == 3 ? 2 : 1;
      const RunResult fast = run_fast(
          program, *region.graph, data, machine, options,
          {.chunk = chunk, .run_length_from = chunk == 1 ? 32U : 0U, .alone = 0, .scatter = true});
      EXPECT_EQ(testing::difference(naive, fast), "") << name << " chunk " << chunk;
    }
    for (const auto& [tensor, storage] : naive.results) data.storage[tensor] = storage;
  }
}

TEST_P(Blocked, ExecutorsAgree) {
  const Case& c = cases()[GetParam()];
  for (const auto& [n, m, k] : {std::tuple(8, 6, 10), std::tuple(7, 8, 11)}) {
    Program program = parse_program(SourceText{"<test>", formatted(c.text, n, m, k)});
    for (const bool parallel : {false, true}) {
      if (parallel) program.regions[0].schedule.parallel = {{"i", 3, false}};
      const Program lowered = lower_program(program);
      for (const Machine& machine : machines()) compare_executors(lowered, machine, c.name);
    }
  }
}

TEST_P(Blocked, MemoryDelaysButChangesNothing) {
  const Case& c = cases()[GetParam()];
  const Program lowered =
      lower_program(parse_program(SourceText{"<test>", formatted(c.text, 7, 8, 11)}));
  Machine machine;
  machine.block = {2, 1, 1, 1, 1, 2, 2};
  machine.dram.model = "fixed";
  machine.dram.burst_bytes = 16;  // a block has several
  machine.dram.outstanding = 2;   // and more than may be under way
  TensorData data{testing::load_inputs(lowered)};
  const Graph& graph = *lowered.regions[0].graph;
  Machine plain_machine = machine;
  plain_machine.dram.model = "none";
  const RunResult plain = interpret_graph(lowered, graph, data, plain_machine, {});
  RunOptions options;
  options.record_streams = true;
  RunResult first;
  for (const uint32_t chunk : {8192U, 1U, 5U}) {
    RunResult run = run_fast(
        lowered, graph, data, machine, options,
        {.chunk = chunk, .run_length_from = chunk == 1 ? 32U : 0U, .alone = 0, .scatter = true});
    ASSERT_EQ(run.finish, Finish::done) << c.name;
    EXPECT_EQ(testing::different_results(plain, run), "") << c.name;
    EXPECT_EQ(plain.dram_read_bytes, run.dram_read_bytes) << c.name;
    EXPECT_EQ(plain.dram_write_bytes, run.dram_write_bytes) << c.name;
    EXPECT_GE(run.cycles, plain.cycles + machine.dram.latency_cycles) << c.name;
    if (chunk == 8192)
      first = std::move(run);
    else
      EXPECT_EQ(testing::difference(first, run), "") << c.name << " chunk " << chunk;
  }
}

TEST(Block, StreamsWholeFromMemory) {
  const Program lowered = lower_program(parse_program(SourceText{
      "<test>",
      "fuseflow 1\nprogram \"t\"\n"
      "input %x: f32[4, 4] dense,dense[4x4] = uniform(density=1, seed=1)\n"
      "result %y: f32[4, 4] dense,dense[4x4]\nregion @y {\n  %y[i, j] = -%x[i, j]\n}\n"}));
  Machine machine;
  machine.dram.model = "fixed";
  machine.dram.channels = 1;
  machine.dram.interval_cycles = 3;
  machine.dram.latency_cycles = 10;
  machine.dram.burst_bytes = 32;
  const RunResult run = run_fast(lowered, *lowered.regions[0].graph,
                                 {testing::load_inputs(lowered)}, machine, {}, {});
  // root 0, i 1, j 2: the array's reference is there at 3 and asks for its two bursts at 3 and 4;
  // the channel starts them at 3 and 6, they are there at 13 and 16: the value is given at 16, its
  // stop at 17, done at 18. The negation follows at 17, 18, 19, the writer at 18, 19, 20. It asks
  // for its first burst at 18, where the second begins, and for the second at 20: the channel
  // starts that at 21, and answers at 31, the last cycle.
  EXPECT_EQ(run.cycles, 32);
  EXPECT_EQ(run.dram_read_bytes, 64);
  EXPECT_EQ(run.dram_write_bytes, 64);
}

INSTANTIATE_TEST_SUITE_P(Cases, Blocked, ::testing::Range(size_t{0}, cases().size()),
                         [](const auto& test) { return cases()[test.param].name; });

std::string refusal(const std::string& text) {
  const Program program = parse_program(SourceText{"<test>", "fuseflow 1\nprogram \"t\"\n" + text});
  return testing::check_program(program, testing::load_inputs(program), {}).failure;
}

TEST(Block, RefusesWhatCannotBeBlocked) {
  EXPECT_NE(refusal("input %x: f32[8] dense[4] = uniform(density=1, seed=1)\n"
                    "result %y: f32[8] dense\nregion @y {\n  %y[i] = %x[i]\n}\n")
                .find("blocks of 4 in %x and of 1 in %y"),
            std::string::npos);
  EXPECT_NE(refusal("input %x: f32[8] dense[4] = uniform(density=1, seed=1)\n"
                    "result %y: f32[4] dense\nregion @y {\n  %y[i:4] = %x[i + 1]\n}\n")
                .find("plain index"),
            std::string::npos);
}

}  // namespace
}  // namespace fuseflow
