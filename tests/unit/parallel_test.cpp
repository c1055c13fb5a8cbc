// Parallel copies: graphs split over any loop, by any factor, give the reference's results, and
// become faster by about the factor.
#include <gtest/gtest.h>

#include "../property/check.h"
#include "machine/load.h"
#include "nodes/rule.h"
#include "sim/fast_executor.h"

namespace fuseflow {
namespace {

const char* const kInputs =
    "input %a: f32[7, 7] dense,compressed facts(finite) = values(0,1,0,0,2,0,1, 0,0,0,0,0,0,0, "
    "3,0,0,1,0,0,0, 0,0,0,1,0,0,0, 1,1,1,1,1,1,1, 0,0,0,0,0,2,0, 1,0,0,1,0,0,1)\n"
    "input %c: f32[7, 7] compressed,compressed facts(finite) = values(0,0,0,0,2,0,1, "
    "0,0,0,0,0,0,0, 3,0,0,1,0,0,0, 0,0,0,0,0,0,0, 1,1,1,1,1,1,1, 0,0,0,0,0,0,0, 1,0,0,1,0,0,1)\n"
    "input %x: f32[7, 4] dense,dense facts(finite) = "
    "values(1,2,3,4,-1,-2,-3,-4,0,1,0,1,2,0,2,0,5,5,5,5,1,1,1,1,0,0,3,1)\n"
    "input %t: f32[7, 7, 4] compressed,compressed,dense facts(finite) = uniform(density=0.3, "
    "seed=4)\n"
    "const %w: f32[4, 3] dense,dense facts(finite) = values(1,0,2,-1,1,0,2,2,2,0,-1,1)\n"
    "const %b: f32[3] dense facts(finite) = values(1,-1,2)\n";

struct Case {
  const char* name;
  const char* declarations;
  const char* statements;
  std::vector<std::string> indices;  ///< loops that can be split
};

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {"spmm",
       "result %y: f32[7, 4] dense,dense\n",
       "%y[i, f] = sum(j) %a[i, j] * %x[j, f]\n",
       {"i", "j"}},
      {"hypersparse",
       "result %y: f32[7, 4] compressed,dense\n",
       "%y[i, f] = sum(j) %c[i, j] * %x[j, f]\n",
       {"i", "j"}},
      {"inner",
       "result %y: f32[7, 7] dense,dense\n",
       "order i, j, f\n  %y[i, j] = sum(f) %x[i, f] * %x[j, f]\n",
       {"i", "j"}},
      {"outer",
       "result %y: f32[7, 7] dense,dense\n",
       "order k, i, j\n  %y[i, j] = sum(k) %a[k, i] * %a[k, j]\n",
       {"k", "i"}},
      {"outer_shifted",
       "result %y: f32[7, 7] dense,dense\n",
       "order k, i, j\n  %y[i, j] = 2 + sum(k) %c[k, i] * %c[k, j]\n",
       {"k", "i"}},
      {"max",
       "result %y: f32[7, 4] dense,dense\n",
       "order j, i, f\n  %y[i, f] = max(j) (%x[j, f] - %x[i, f])\n",
       {"j", "i"}},
      {"mean",
       "result %y: f32[7, 4] dense,dense\n",
       "order j, i, f\n  %y[i, f] = mean(j) (%x[j, f] * %x[i, f])\n",
       {"j", "i"}},
      {"union",
       "result %y: f32[7, 7] compressed,compressed\n",
       "%y[i, j] = %a[i, j] + %c[i, j]\n",
       {"i"}},
      {"intersection",
       "result %y: f32[7, 4] dense,dense\n",
       "%y[i, f] = sum(j) %a[i, j] * %c[i, j] * %x[j, f]\n",
       {"i", "j"}},
      {"gcn",
       "temp %t0: f32[7, 4] dense,dense\ntemp %t1: f32[7, 3] dense,dense\n"
       "temp %h: f32[7, 3] dense,dense\nresult %y: f32[7, 3] dense,dense\n",
       "%t0[i, f] = sum(j) %a[i, j] * %x[j, f]\n  %t1[i, h] = sum(f) %t0[i, f] * %w[f, h]\n"
       "  %h[i, h] = relu(%t1[i, h] + %b[h])\n  %y[i, h] = sum(k) %a[i, k] * %h[k, h]\n",
       {"i", "k"}},
      {"softmax",
       "temp %m: f32[7] dense\ntemp %e: f32[7, 4] dense,dense\ntemp %d: f32[7] dense\n"
       "result %y: f32[7, 4] dense,dense\n",
       "%m[i] = max(j) %x[i, j]\n  %e[i, j] = exp(%x[i, j] - %m[i])\n"
       "  %d[i] = sum(j) %e[i, j]\n  %y[i, j] = %e[i, j] / %d[i]\n",
       {"i", "j"}},
      {"attention",
       "temp %s: f32[7, 7] dense,compressed\ntemp %m: f32[7] dense\n"
       "temp %e: f32[7, 7] dense,compressed\ntemp %d: f32[7] dense\n"
       "temp %p: f32[7, 7] dense,compressed\nresult %y: f32[7, 4] dense,dense\n",
       "%s[i, k] = %a[i, k] * sum(f) %x[i, f] * %x[k, f]\n  %m[i] = max(k) %s[i, k]\n"
       "  %e[i, k] = %a[i, k] * exp(%s[i, k] - %m[i])\n  %d[i] = 1 + sum(k) %e[i, k]\n"
       "  %p[i, k] = %e[i, k] / %d[i]\n  %y[i, g] = sum(k) %p[i, k] * %x[k, g]\n",
       {"i", "k"}},
      {"phases",
       "temp %u: f32[7, 4] dense,dense\nresult %y: f32[7, 4] dense,dense\n",
       "place %u = scratchpad\n  %u[i, f] = sum(j) %a[i, j] * %x[j, f]\n"
       "  %y[i, f] = sum(j) %a[i, j] * %u[j, f]\n",
       {"i"}},
      {"three",
       "result %y: f32[7, 4] dense,dense\nresult %z: f32[7, 7] dense,compressed\n",
       "%y[j, f] = sum(i) %t[i, j, f]\n  %z[i, j] = sum(f) %t[i, j, f]\n",
       {"i"}},
      {"merge_two_loops",
       "result %y: f32[7, 4] compressed,dense\n",
       "order i, j, f\n  %y[j, f] = sum(i) %t[i, j, f] * %a[i, j]\n",
       {"i", "j"}},
  };
  return kCases;
}

Program make(const Case& c, const std::string& schedule) {
  return parse_program(SourceText{"<test>", std::string("fuseflow 1\nprogram \"t\"\n") + kInputs +
                                                c.declarations + "region @y {\n" + schedule +
                                                c.statements + "}\n"});
}

class Parallelized : public ::testing::TestWithParam<size_t> {};

TEST_P(Parallelized, AgreesWithTheReference) {
  const Case& c = cases()[GetParam()];
  for (const std::string& index : c.indices) {
    for (const int factor : {1, 2, 3, 7, 9}) {
      for (const char* how : {"", " contiguous"}) {
        for (const int64_t depth : {0, 2, 64}) {
          const Program program =
              make(c, fmt::format("parallel {} = {}{}\n  ", index, factor, how));
          testing::CheckOptions options;
          options.tolerance = 1e-5;
          options.machine.fifo_depth = depth;
          const auto result =
              testing::check_program(program, testing::load_inputs(program), options);
          EXPECT_EQ(result.failure, "")
              << c.name << " " << index << " " << factor << how << ", depth " << depth;
        }
      }
    }
  }
}

TEST_P(Parallelized, AgreesWithTheReferenceNested) {
  const Case& c = cases()[GetParam()];
  if (c.indices.size() < 2) return;
  for (const auto& [p, q] : {std::pair(2, 3), std::pair(4, 4)}) {
    for (const char* how : {"", " contiguous"}) {
      const Program program = make(c, fmt::format("parallel {} = {}{}\n  parallel {} = {}\n  ",
                                                  c.indices[1], p, how, c.indices[0], q));
      for (const int64_t depth : {0, 2, 16}) {
        testing::CheckOptions options;
        options.tolerance = 1e-5;
        options.machine.fifo_depth = depth;
        const auto result = testing::check_program(program, testing::load_inputs(program), options);
        EXPECT_EQ(result.failure, "") << c.name << how << ", depth " << depth;
      }
    }
  }
}

/// Expects equal runs of both executors, on a machine with uneven timing: every token with its
/// time, every count.
void expect_same_runs(Program program, uint32_t chunk) {
  program = lower_program(std::move(program));
  TensorData data{testing::load_inputs(program)};
  Machine machine;
  for (size_t u = 0; u < machine.units.size(); ++u) {
    machine.units[u] = {1 + static_cast<int64_t>(u % 3), 1 + static_cast<int64_t>(u % 4 == 1), 0};
  }
  RunOptions options;
  options.record_streams = true;
  const Graph& graph = *program.regions[0].graph;
  const RunResult naive = interpret_graph(program, graph, data, machine, options);
  EngineTuning tuning;
  tuning.chunk = chunk;
  tuning.run_length_from = chunk % 2 == 0 ? 0 : 32;
  const RunResult fast = run_fast(program, graph, data, machine, options, tuning);
  EXPECT_EQ(naive.cycles, fast.cycles);
  EXPECT_EQ(naive.tokens, fast.tokens);
  EXPECT_EQ(naive.flops, fast.flops);
  for (size_t n = 0; n < naive.nodes.size(); ++n) {
    EXPECT_EQ(naive.nodes[n].steps, fast.nodes[n].steps) << n;
    EXPECT_EQ(naive.nodes[n].starved, fast.nodes[n].starved) << n;
    EXPECT_EQ(naive.nodes[n].tokens_in, fast.nodes[n].tokens_in) << n;
    EXPECT_EQ(naive.nodes[n].tokens_out, fast.nodes[n].tokens_out) << n;
    EXPECT_EQ(naive.nodes[n].first_step, fast.nodes[n].first_step) << n;
  }
  for (size_t t = 0; t < naive.streams.size(); ++t) {
    EXPECT_EQ(naive.streams[t].peak, fast.streams[t].peak) << t;
    ASSERT_EQ(naive.recorded[t] == fast.recorded[t], true)
        << graph.streams[t].name << " of "
        << node_kind_name(graph.nodes[graph.streams[t].producer].kind);
  }
}

TEST_P(Parallelized, ExecutorsAgree) {
  const Case& c = cases()[GetParam()];
  for (const std::string& index : c.indices) {
    for (const int factor : {2, 3, 9}) {
      for (const char* how : {"", " contiguous"}) {
        for (const uint32_t chunk : {2U, 7U, 8192U}) {
          SCOPED_TRACE(fmt::format("{} = {}{}, chunk {}", index, factor, how, chunk));
          expect_same_runs(make(c, fmt::format("parallel {} = {}{}\n  ", index, factor, how)),
                           chunk);
        }
      }
    }
  }
  if (c.indices.size() < 2) return;
  for (const char* how : {"", " contiguous"}) {
    expect_same_runs(make(c, fmt::format("parallel {} = 3{}\n  parallel {} = 4{}\n  ", c.indices[0],
                                         how, c.indices[1], how)),
                     64);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Parallelized, ::testing::Range(size_t{0}, cases().size()),
                         [](const auto& test) { return cases()[test.param].name; });

TEST(Parallel, EmptyAndSingleExtents) {
  for (const int extent : {0, 1}) {
    for (const char* how : {"", " contiguous"}) {
      const Program program = parse_program(SourceText{
          "<test>",
          fmt::format("fuseflow 1\nprogram \"t\"\n"
                      "input %a: f32[{0}, 5] dense,compressed = uniform(density=0.5, seed=1)\n"
                      "input %x: f32[5, {0}] dense,dense = uniform(density=1, seed=2)\n"
                      "result %y: f32[{0}, {0}] dense,dense\n"
                      "region @y {{\n  parallel i = 4{1}\n"
                      "  %y[i, f] = sum(j) %a[i, j] * %x[j, f]\n}}\n",
                      extent, how)});
      testing::CheckOptions options;
      options.tolerance = 1e-5;
      const auto result = testing::check_program(program, testing::load_inputs(program), options);
      EXPECT_EQ(result.failure, "") << extent << how;
    }
  }
}

std::string refusal(const Parallel& entry) {
  Program program = make(cases()[0], "");
  program.regions[0].schedule.parallel = {entry};
  return testing::check_program(program, testing::load_inputs(program), {}).failure;
}

TEST(Parallel, RefusesWhatCannotBeSplit) {
  EXPECT_NE(refusal({"q", 2, false}).find("no loop of the region's graph"), std::string::npos);
  EXPECT_NE(refusal({"i", 0, false}).find("at least 1"), std::string::npos);
  EXPECT_NE(refusal({"i", 100000000, false}).find("smaller factor"), std::string::npos);
}

/// How many nodes write the values of a result of this format, copied by `schedule`.
int64_t writers_of(const std::string& format, const std::string& place,
                   const std::string& schedule) {
  const Program program =
      parse_program(SourceText{"<test>", "fuseflow 1\nprogram \"t\"\n" + std::string(kInputs) +
                                             "temp %u: f32[7, 4] " + format +
                                             "\nresult %y: f32[7, 4] dense,dense\n"
                                             "region @y {\n  " +
                                             place + schedule +
                                             "%u[i, f] = sum(j) %a[i, j] * %x[j, f]\n"
                                             "  %y[i, f] = sum(j) %a[i, j] * %u[j, f]\n}\n"});
  const Graph graph = lower_region(program, 0);
  const std::vector<int> written = parts_written(graph, program.tensors.size());
  const auto u =
      static_cast<size_t>(std::find_if(program.tensors.begin(), program.tensors.end(),
                                       [](const Tensor& tensor) { return tensor.name == "u"; }) -
                          program.tensors.begin());
  return written[u];
}

TEST(Parallel, CopiesWriteTheirPartsOfDenseResults) {
  const std::string memory = "place %u = memory\n  ";
  EXPECT_EQ(writers_of("dense,dense", memory, "parallel i = 3\n  "), 3);
  EXPECT_EQ(writers_of("dense,dense", memory, "parallel i = 3 contiguous\n  "), 3);
  EXPECT_EQ(writers_of("dense,dense@1,0", memory, "parallel i = 3\n  "), 3);
  // Partial sums of copies of a reduction are merged first.
  EXPECT_EQ(writers_of("dense,dense", memory, "parallel j = 3\n  "), 1);
  EXPECT_EQ(writers_of("dense,compressed", memory, "parallel i = 3\n  "), 1);
  EXPECT_EQ(writers_of("compressed,dense", memory, "parallel i = 3\n  "), 1);
  // In the scratchpad too, where the next phase waits for rows of all of them.
  const std::string chip = "place %u = scratchpad\n  ";
  EXPECT_EQ(writers_of("dense,dense", chip, "parallel i = 3\n  "), 3);
  EXPECT_EQ(writers_of("dense,dense", chip, "parallel i = 3 contiguous\n  "), 3);
  EXPECT_EQ(writers_of("dense,compressed", chip, "parallel i = 3\n  "), 1);
}

/// Cycles of an elementwise kernel of 64 rows of 16.
int64_t cycles_of_rows(const std::string& schedule, const std::string& machine) {
  const Program program =
      parse_program(SourceText{"<test>",
                               "fuseflow 1\nprogram \"t\"\n"
                               "input %x: f32[64, 16] dense,dense = uniform(density=1, seed=1)\n"
                               "input %b: f32[16] dense = uniform(density=1, seed=2)\n"
                               "result %y: f32[64, 16] dense,dense\n"
                               "region @y {\n  " +
                                   schedule + "%y[i, j] = %x[i, j] + %b[j]\n}\n"});
  testing::CheckOptions options;
  options.machine = load_machine(machine);
  const auto result = testing::check_program(program, testing::load_inputs(program), options);
  EXPECT_EQ(result.failure, "");
  return result.cycles;
}

TEST(Parallel, ElementwiseKernelsAreNotBoundByOneWriter) {
  const auto one = static_cast<double>(cycles_of_rows("", "ideal"));
  EXPECT_GE(one / static_cast<double>(cycles_of_rows("parallel i = 4\n  ", "ideal")), 0.9 * 4);
  // The last of 4 ranges of 16 rows begins when the rows of the others have been dealt out.
  const double contiguous = 64.0 * 16 / (3 * 16 + 16 * 16);
  EXPECT_GE(one / static_cast<double>(cycles_of_rows("parallel i = 4 contiguous\n  ", "ideal")),
            0.9 * contiguous);
}

int64_t cycles_of(const std::string& schedule) {
  const Program program = parse_program(
      SourceText{"<test>",
                 "fuseflow 1\nprogram \"t\"\n"
                 "input %q: f32[128, 32] dense,dense = uniform(density=1, seed=1)\n"
                 "input %k: f32[128, 32] dense,dense = uniform(density=1, seed=2)\n"
                 "input %m: f32[128, 128] dense,compressed = uniform(density=0.2, seed=3)\n"
                 "temp %s: f32[128, 128] dense,compressed\n"
                 "result %y: f32[128, 32] dense,dense\n"
                 "region @y {\n  " +
                     schedule +
                     "%s[i, k] = %m[i, k] * sum(f) %q[i, f] * %k[k, f]\n"
                     "  %y[i, g] = sum(k) %s[i, k] * %q[k, g]\n}\n"});
  testing::CheckOptions options;
  options.tolerance = 1e-4;
  const auto result = testing::check_program(program, testing::load_inputs(program), options);
  EXPECT_EQ(result.failure, "");
  return result.cycles;
}

TEST(Parallel, SpeedsUpByTheFactor) {
  const auto one = static_cast<double>(cycles_of(""));
  EXPECT_GE(one / static_cast<double>(cycles_of("parallel i = 4\n  ")), 0.9 * 4);
  EXPECT_GE(one / static_cast<double>(cycles_of("parallel i = 16\n  ")), 0.9 * 16);
  EXPECT_GE(one / static_cast<double>(cycles_of("parallel i = 4\n  parallel k = 4\n  ")), 0.9 * 16);
}

}  // namespace
}  // namespace fuseflow
