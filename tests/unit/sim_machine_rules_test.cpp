// What a machine may choose of the rules of ir-spec/timing.md: cycle counts of micro-cases, worked
// out by hand; the arithmetic is beside each case, written as in sim_micro_test.cpp.
#include <gtest/gtest.h>

#include "machine/load.h"
#include "sim_graph.h"

namespace fuseflow {
namespace {

using testing::GraphBuilder;
using testing::show;

class MachineRules : public ::testing::TestWithParam<Executor> {
 protected:
  RunResult run(const GraphBuilder& b, const std::vector<std::string>& settings) {
    return b.run(load_machine("ideal", settings), GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(Executors, MachineRules,
                         ::testing::Values(Executor::naive, Executor::fast), [](const auto& which) {
                           return which.param == Executor::naive ? "naive" : "fast";
                         });

/// z[i, j] = sum(k) t[i, k, j] by an accumulator.
struct RowsOfSums {
  GraphBuilder b;
  std::vector<StreamId> out;

  RowsOfSums(std::vector<int64_t> shape, const std::string& format, std::vector<float> values) {
    const TensorId t = b.input("t", shape, format, std::move(values));
    const TensorId z = b.output("z", {shape[0], shape[2]}, "dense,compressed");
    const int i = b.index("i", shape[0]);
    const int k = b.index("k", shape[1]);
    const int j = b.index("j", shape[2]);
    const auto [ci, ri] = b.scan(t, 0, b.root(), i);
    const auto [ck, rk] = b.scan(t, 1, ri, k);
    const auto [cj, rj] = b.scan(t, 2, rk, j);
    out = b.accumulate(1, {ci, ck, cj, b.array(t, rj)});
    b.write_level(z, 1, {out[0]});
    b.write_values(z, {out[1]});
  }
};

TEST_P(MachineRules, OuterStopsTakeSteps) {
  // rows i of t {{1}}, {}, {{2}}; a flush gives all at once
  // scan .0 0@1 1@2 2@3 S0@4 D@5; scan .1 0@2 S0@3 S0@4 0@5 S1@6 D@7
  // scan .2 0@3 S1@4 S1/01@5 0@6 S2@7 D@8; array 4 5 6 7 8 9, which arrive 5 6 7 8 9 10
  // accumulate takes 5; S1@6; its outer stop @7 flushes 0, S0
  //   the S1 of the empty row, which ends no fiber of k, is one step: @8 gives S0
  //   the value @9, S2@10, its outer stop @11 flushes 0, S1; D@12
  // write 1@8, S0@9, 2@12, S1@13, D@13. cycles = 14
  const RowsOfSums s({3, 1, 1}, "dense,compressed,compressed", {1, 0, 2});
  for (const char* depth : {"0", "64"}) {
    const RunResult r =
        run(s.b, {"accumulate_outer_stops_take_steps=true", "accumulate_drain_interval_cycles=0",
                  std::string("fifo_depth=") + depth});
    EXPECT_EQ(show(s.b.graph, r, s.out[1]), "1@7 S0@7 S0@8 2@11 S1@11 D@12") << depth;
    EXPECT_EQ(r.cycles, 14);
  }
}

TEST_P(MachineRules, TwoStores) {
  // rows i of t {{1, 2}}, {{3}}, {{_, 4}}
  // scan .0 0@1 1@2 2@3 S0@4 D@5; scan .1 0@2 S0@3 0@4 S0@5 0@6 S1@7 D@8
  // scan .2 0@3 1@4 S1@5 0@6 S1@7 1@8 S2@9 D@10; array 4 .. 11, which arrive 5 .. 12
  // one store:  1@5 2@6 S1@7, 0@7 1@8 S0@9, 3@10, S1@11, 0@11 S0@12, 4@13, S2@14, 1@14 S1@15, D@16
  // two stores: 1@5 2@6 S1@7 hands over; 3@8; S1 could be at 9, but the first is drained until 9:
  //             @10; 4@11, S2@12 (the second is drained until 11), D arrives 12, and the third is
  //             drained until 13: @14. Blocked 1 + 1.
  // drained:    0@7 1@8 S0@9; 0@10 S0@11; 1@12 S1@13; D@14
  // write       1@8 2@9 S0@10, 3@11 S0@12, 4@13 S1@14, D@15. cycles = 16
  const RowsOfSums s({3, 1, 2}, "dense,dense,compressed", {1, 2, 3, 0, 0, 4});
  const RunResult one = run(s.b, {"accumulate_double_buffered=false"});
  EXPECT_EQ(show(s.b.graph, one, s.out[1]), "1@7 2@8 S0@9 3@11 S0@12 4@14 S1@15 D@16");
  for (const char* depth : {"0", "64"}) {
    const RunResult two =
        run(s.b, {"accumulate_double_buffered=true", std::string("fifo_depth=") + depth});
    EXPECT_EQ(show(s.b.graph, two, s.out[1]), "1@7 2@8 S0@9 3@10 S0@11 4@12 S1@13 D@14") << depth;
    const NodeStats& stats = two.nodes[5];
    EXPECT_EQ(stats.steps, 8);
    EXPECT_EQ(stats.busy, 8);
    EXPECT_EQ(stats.blocked, 2);
    EXPECT_EQ(stats.last_step, 14);
    EXPECT_EQ(two.cycles, 16);
  }
}

TEST_P(MachineRules, StopsOfWriters) {
  // scan 0@1 1@2 S0@3 D@4, array one later, write 3@3 4@4 S0@5 D@6: free or not, the same. With an
  // interval of 3: 3@3 4@6, S0@9, D@9 or @12.
  GraphBuilder g;
  const TensorId a = g.input("a", {2}, "dense", {3, 4});
  const TensorId y = g.output("y", {2}, "dense");
  const auto [ci, ri] = g.scan(a, 0, g.root(), g.index("i", 2));
  g.write_values(y, {ci, g.array(a, ri)});
  const std::string slow = "units.write.interval_cycles=3";
  EXPECT_EQ(run(g, {}).cycles, 7);
  EXPECT_EQ(run(g, {"write_stops_take_steps=true"}).cycles, 7);
  EXPECT_EQ(run(g, {slow}).cycles, 10);
  EXPECT_EQ(run(g, {slow, "write_stops_take_steps=true"}).cycles, 13);
}

TEST_P(MachineRules, SlowOperators) {
  // scan 0@1 1@2 S0@3 D@4, array @2 @3 S0@4 D@5; exp every third cycle: @3 @6 S0@9 D@12, five
  // cycles long; the sum beside it @3 @4 S0@5 D@6
  GraphBuilder g;
  const TensorId a = g.input("a", {2}, "dense", {0, 0});
  const TensorId y = g.output("y", {2}, "dense");
  const TensorId z = g.output("z", {2}, "dense");
  const auto [ci, ri] = g.scan(a, 0, g.root(), g.index("i", 2));
  const StreamId value = g.array(a, ri);
  const StreamId exponential = g.map(Op::exp, {value});
  const StreamId sum = g.map(Op::add, {value, value});
  g.write_values(y, {ci, exponential});
  g.write_values(z, {ci, sum});
  const RunResult r =
      run(g, {"operators.exponential.latency_cycles=5", "operators.exponential.interval_cycles=3"});
  EXPECT_EQ(show(g.graph, r, exponential), "1@3 1@6 S0@9 D@12");
  EXPECT_EQ(show(g.graph, r, sum), "0@3 0@4 S0@5 D@6");
  EXPECT_EQ(r.cycles, 18);  // done arrives 17
}

}  // namespace
}  // namespace fuseflow
