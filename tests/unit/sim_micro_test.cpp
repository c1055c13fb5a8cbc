// Cycle counts of micro-cases, worked out by hand from ir-spec/timing.md; the arithmetic is beside
// each case. Notation: token@step time. On machine ideal every latency and interval is 1, so a
// token given at t is used at t+1 at the earliest. "row0 arrives 2" means given at 1.
#include <gtest/gtest.h>

#include "machine/load.h"
#include "sim/fast_executor.h"
#include "sim/report/deadlock.h"
#include "sim_graph.h"

namespace fuseflow {
namespace {

using testing::GraphBuilder;
using testing::show;

/// The third one gives one token at a time, so that every token begins a segment.
enum class Runs { naive, fast, fast_by_tokens };

class Micro : public ::testing::TestWithParam<Runs> {
 protected:
  Executor executor() const { return GetParam() == Runs::naive ? Executor::naive : Executor::fast; }
  RunResult run(const GraphBuilder& b, const Machine& machine = {}) {
    if (GetParam() != Runs::fast_by_tokens) return b.run(machine, executor());
    RunOptions options;
    options.full_streams = true;
    options.record_streams = true;
    return run_fast(b.program, b.graph, b.data, machine, options, {.chunk = 1, .few = 0});
  }
};
INSTANTIATE_TEST_SUITE_P(Executors, Micro,
                         ::testing::Values(Runs::naive, Runs::fast, Runs::fast_by_tokens),
                         [](const auto& which) {
                           return which.param == Runs::naive  ? "naive"
                                  : which.param == Runs::fast ? "fast"
                                                              : "fast_by_tokens";
                         });

/// y = sum(i) a[i] * c[i]: two scans, an intersection, two loads, a product, a sum, a writer.
struct VectorProduct {
  GraphBuilder b;
  StreamId a_crd, product, sum;

  VectorProduct(std::vector<float> a_values, std::vector<float> c_values,
                const std::string& format = "compressed") {
    const auto n = static_cast<int64_t>(a_values.size());
    const TensorId a = b.input("a", {n}, format, std::move(a_values));
    const TensorId c = b.input("c", {n}, format, std::move(c_values));
    const TensorId y = b.output("y", {}, "scalar");
    const int i = b.index("i", n);
    const StreamId root = b.root();
    const auto [ai, ar] = b.scan(a, 0, root, i);
    const auto [ci, cr] = b.scan(c, 0, root, i);
    const auto joined = b.join(NodeKind::intersect, {{ai, ar}, {ci, cr}});
    a_crd = ai;
    product = b.map(Op::mul, {b.array(a, joined[1]), b.array(c, joined[2])});
    sum = b.reduce(root, product);
    b.write_values(y, {sum});
  }
};

float scalar(const RunResult& result) {
  return result.results.at(0).second->values[0];
}

TEST_P(Micro, SparseVectorProduct) {
  // root      0@0 D@1
  // scan a    0@1 2@2, the stop needs D (arrives 2): S0@3, D@4. scan c: 2@1 3@2 S0@3 D@4
  // intersect coordinates met: 0@2 (both heads arrive at 2), 2@3 given, 3@4 (a's stop arrives at
  // 4),
  //           S0@5, D@6
  // array     2@4 S0@6 D@7;  mul 5, 7, 8;  reduce: 2*3 at 6, S0 arrives 8: value@8, D@9
  // write     value arrives 9: @9, D@10. cycles = 10 + 1
  const VectorProduct v({1, 0, 2, 0}, {0, 0, 3, 4});
  const RunResult r = run(v.b);
  EXPECT_EQ(show(v.b.graph, r, v.a_crd), "0@1 2@2 S0@3 D@4");
  EXPECT_EQ(show(v.b.graph, r, v.product), "6@5 S0@7 D@8");
  EXPECT_EQ(show(v.b.graph, r, v.sum), "6@8 D@9");
  EXPECT_EQ(r.cycles, 11);
  EXPECT_EQ(scalar(r), 6);
}

TEST_P(Micro, IntersectWords) {
  // The worked case of timing.md: three words of 64.
  // scan a    1@1 3@2 70@3 S0@4 D@5; scan c 2@1 3@2 71@3 S0@4 D@5
  // join      1@2 and 2@3 cost nothing; 3@3 given; 70@4 and 71@5 cost nothing; words 1 and 2 have
  //           a step each, 5 and 6; S0@7 D@8
  GraphBuilder b;
  std::vector<float> a_values(130, 0);
  std::vector<float> c_values(130, 0);
  a_values[1] = a_values[3] = a_values[70] = 2;
  c_values[2] = c_values[3] = c_values[71] = 3;
  const TensorId a = b.input("a", {130}, "bitvector", a_values);
  const TensorId c = b.input("c", {130}, "bitvector", c_values);
  const TensorId y = b.output("y", {}, "scalar");
  const int i = b.index("i", 130);
  const StreamId root = b.root();
  const auto [ai, ar] = b.scan(a, 0, root, i);
  const auto [ci, cr] = b.scan(c, 0, root, i);
  const auto joined = b.join(NodeKind::intersect_words, {{ai, ar}, {ci, cr}});
  const StreamId product = b.map(Op::mul, {b.array(a, joined[1]), b.array(c, joined[2])});
  b.write_values(y, {b.reduce(root, product)});
  const RunResult r = run(b);
  EXPECT_EQ(show(b.graph, r, ai), "1@1 3@2 70@3 S0@4 D@5");
  EXPECT_EQ(show(b.graph, r, ci), "2@1 3@2 71@3 S0@4 D@5");
  EXPECT_EQ(show(b.graph, r, product), "6@5 S0@9 D@10");
  EXPECT_EQ(scalar(r), 6);
  const NodeStats& stats = r.nodes[3];
  EXPECT_EQ(stats.steps, 9);  // 5 coordinates met, 2 words that give nothing, S0 and D
  EXPECT_EQ(stats.busy, 5);   // 3 words, S0 and D
}

TEST_P(Micro, Gallop) {
  // The worked case of timing.md. gallop: heads@1; a's 9@2; b's 3@3 4@4 6@5 30@6 8@7 9@8 found;
  // heads@9; a's 30@10 found; S0@11 D@12
  testing::GallopExample example;
  auto& [b, a, c, y, root, met] = example;
  const StreamId product = b.map(Op::mul, {b.array(a, met[1]), b.array(c, met[2])});
  b.write_values(y, {b.reduce(root, product)});
  const RunResult r = run(b);
  EXPECT_EQ(show(b.graph, r, met[1]), "1@8 3@10 S0@11 D@12");
  EXPECT_EQ(show(b.graph, r, met[2]), "7@8 8@10 S0@11 D@12");
  EXPECT_EQ(scalar(r), 12);
  const NodeStats& stats = r.nodes[1];
  EXPECT_EQ(stats.steps, 12);            // 10 looks, S0 and D
  EXPECT_EQ(stats.read_bytes, 16 + 48);  // the positions of two fibers, 12 entries
}

TEST_P(Micro, GallopBelowRows) {
  // Rows of a: {0, 1}, {}, {2}; of b: {1}, {0}, {0, 1}. Both scans of level 0: 0@1 1@2 2@3 S0@4
  // D@5. gallop    row 0: heads@2, a's 1@3 found. Both are at their ends: S0@4 (row 1 arrived at
  // 3).
  //           row 1: a's fiber is empty: S0@5 (row 2 arrived at 4).
  //           row 2: heads@6, 2 and 0; b's 1@7 is less, nothing is behind it. S1@8, D@9.
  GraphBuilder b;
  const TensorId a = b.input("a", {3, 3}, "dense,compressed", {1, 1, 0, 0, 0, 0, 0, 0, 1});
  const TensorId c = b.input("b", {3, 3}, "dense,compressed", {0, 1, 0, 1, 0, 0, 1, 1, 0});
  const TensorId y = b.output("y", {3}, "dense");
  const StreamId root = b.root();
  const int i = b.index("i", 3);
  const auto [ai, ar] = b.scan(a, 0, root, i);
  const auto [ci, cr] = b.scan(c, 0, root, i);
  const auto met = b.gallop({a, 1}, {c, 1}, ar, cr, b.index("j", 3));
  b.write_values(y, {ai, b.reduce(ai, b.array(a, met[1]))});
  const RunResult r = run(b);
  EXPECT_EQ(show(b.graph, r, met[1]), "1@3 S0@4 S0@5 S1@8 D@9");
  const NodeStats& stats = r.nodes[3];
  EXPECT_EQ(stats.steps, 8);
  // Positions: 8, then 4 for each that follows; entries: 3 in row 0, 3 in row 2.
  EXPECT_EQ(stats.read_bytes, 2 * (8 + 4 + 4) + 4 * 6);
}

TEST_P(Micro, AllZeroOperand) {
  // scan a    0@1 1@2 S0@3 D@4.  scan c is empty; its stop needs D (arrives 2): S0@2 D@3
  // intersect c's stop arrives 3: a is drained 0@3, 1@4, then S0@5 (a's stop arrives 4), D@6
  // array S0@6 D@7; mul S0@7 D@8; reduce 0@8 D@9; write 0@9 D@10. cycles = 11
  const VectorProduct v({1, 2, 0}, {0, 0, 0});
  const RunResult r = run(v.b);
  EXPECT_EQ(show(v.b.graph, r, v.product), "S0@7 D@8");
  EXPECT_EQ(show(v.b.graph, r, v.sum), "0@8 D@9");
  EXPECT_EQ(r.cycles, 11);
}

TEST_P(Micro, SingleElement) {
  // scans 0@1 S0@2 D@3; intersect 0@2 S0@3 D@4; array 3 4 5; mul 4 5 6; reduce takes 15 at 5,
  // S0 at 6 gives it, D@7; write 15@7 D@8. cycles = 9
  const VectorProduct v({5}, {3});
  const RunResult r = run(v.b);
  EXPECT_EQ(show(v.b.graph, r, v.sum), "15@6 D@7");
  EXPECT_EQ(r.cycles, 9);
}

TEST_P(Micro, FullyDense) {
  // n = 4 coordinates: scans 0@1 .. 3@4 S0@5 D@6; intersect 2..5, S0@6, D@7; array 3..6 7 8;
  // mul 4..7 8 9; reduce takes 5..8, S0@9 gives 10, D@10; write @10, D@11. cycles = n + 8
  const VectorProduct v({1, 2, 3, 4}, {1, 1, 1, 1}, "dense");
  const RunResult r = run(v.b);
  EXPECT_EQ(show(v.b.graph, r, v.sum), "10@9 D@10");
  EXPECT_EQ(r.cycles, 12);
  EXPECT_EQ(r.flops, 8);  // 4 products, 4 additions
}

/// y[i] = sum(j) A[i, j] with A dense,compressed.
struct RowSums {
  GraphBuilder b;
  StreamId i, j_ref, value, sum;

  RowSums(std::vector<int64_t> shape, std::vector<float> values) {
    const TensorId a = b.input("a", shape, "dense,compressed", std::move(values));
    const TensorId y = b.output("y", {shape[0]}, "dense");
    const int loop_i = b.index("i", shape[0]);
    const int loop_j = b.index("j", shape[1]);
    const StreamId root = b.root();
    const auto [ci, ri] = b.scan(a, 0, root, loop_i);
    const auto [cj, rj] = b.scan(a, 1, ri, loop_j);
    i = ci;
    j_ref = rj;
    value = b.array(a, rj);
    sum = b.reduce(ci, value);
    b.write_values(y, {ci, sum});
  }
};

TEST_P(Micro, EmptyRow) {
  // rows {0: 1}, {}, {1: 2, 2: 3}
  // scan a.0  0@1 1@2 2@3 S0@4 D@5
  // scan a.1  row 0 arrives 2: 0@2, its stop needs row 1 (arrives 3): S0@3. Row 1 is empty, needs
  //           row 2 (arrives 4): S0@4. Row 2: 1@5 2@6, its stop takes S0 (arrives 5): S1@7. D@8
  // array     3 4 5 6 7 8 9;  reduce: 1 at 4, S0@5 gives 1, S0@6 gives 0, 2 at 7, 3 at 8, S1@9
  //           gives 5 and S0, D@10
  // write     1@6 0@7 5@10, its S0 (arrives 10) after 5's cycle: 11, D arrives 11: 11. cycles = 12
  const RowSums s({3, 3}, {1, 0, 0, 0, 0, 0, 0, 2, 3});
  const RunResult r = run(s.b);
  EXPECT_EQ(show(s.b.graph, r, s.j_ref), "0@2 S0@3 S0@4 1@5 2@6 S1@7 D@8");
  EXPECT_EQ(show(s.b.graph, r, s.sum), "1@5 0@6 5@9 S0@9 D@10");
  EXPECT_EQ(r.cycles, 12);
  EXPECT_EQ(r.results[0].second->values.to_vector(), (std::vector<float>{1, 0, 5}));
  // Counts. Positions: 8 for row 0, then 4 and 4; coordinates 3 * 4; values 3 * 4.
  EXPECT_EQ(r.dram_read_bytes, 16 + 12 + 12);
  EXPECT_EQ(r.dram_write_bytes, 12);
  EXPECT_EQ(r.flops, 3);
  // root 2, i 5, its reference 5, j's reference 7, value 7, sum 5; j itself has no consumer.
  EXPECT_EQ(r.tokens, 31);
}

TEST_P(Micro, EmptyMatrix) {
  // No rows: scan a.0 gives S0 when D arrives (2): S0@2 D@3; scan a.1: S0 arrives 3: S1, which
  // closes nothing, @3 D@4; array 4 5; reduce S0@5 D@6; write: S0 and D arrive 6 and 7. cycles = 8
  const RowSums s({0, 3}, {});
  const RunResult r = run(s.b);
  EXPECT_EQ(show(s.b.graph, r, s.j_ref), "S1-@3 D@4");
  EXPECT_EQ(show(s.b.graph, r, s.sum), "S0@5 D@6");
  EXPECT_EQ(r.cycles, 8);
}

TEST_P(Micro, UniteAndLeftJoin) {
  // a has 0 2, b has 1 2: scans 0@1 2@2 S0@3 D@4 and 1@1 2@2 S0@3 D@4.
  // One comparison a cycle: 0@2 1@3 2@4, S0@5, D@6, whatever the join keeps.
  GraphBuilder g;
  const TensorId a = g.input("a", {3}, "compressed", {1, 0, 2});
  const TensorId b = g.input("b", {3}, "compressed", {0, 3, 4});
  const TensorId y = g.output("y", {3}, "compressed");
  const int i = g.index("i", 3);
  const StreamId root = g.root();
  const auto [ai, ar] = g.scan(a, 0, root, i);
  const auto [bi, br] = g.scan(b, 0, root, i);
  const auto any = g.join(NodeKind::unite, {{ai, ar}, {bi, br}});
  const auto left = g.join(NodeKind::leftjoin, {{ai, ar}, {bi, br}});
  const StreamId value = g.map(Op::add, {g.array(a, any[1]), g.array(b, any[2])});
  g.write_level(y, 0, {any[0]});
  g.write_values(y, {value});
  const TensorId z = g.output("z", {3}, "compressed");
  g.write_level(z, 0, {left[0]});
  g.write_values(z, {g.map(Op::sub, {g.array(a, left[1]), g.array(b, left[2])})});
  const RunResult r = run(g);
  EXPECT_EQ(show(g.graph, r, any[0]), "0@2 1@3 2@4 S0@5 D@6");
  EXPECT_EQ(show(g.graph, r, any[1]), "0@2 N@3 1@4 S0@5 D@6");
  EXPECT_EQ(show(g.graph, r, any[2]), "N@2 0@3 1@4 S0@5 D@6");
  EXPECT_EQ(show(g.graph, r, value), "1@4 3@5 6@6 S0@7 D@8");
  EXPECT_EQ(show(g.graph, r, left[0]), "0@2 2@4 S0@5 D@6");
  EXPECT_EQ(show(g.graph, r, left[2]), "N@2 1@4 S0@5 D@6");
}

TEST_P(Micro, RepeatAndLocate) {
  // y[i] = sum(j) A[i, j] * x[j], A = rows {1: 2}, {}; x dense = {10, 20}
  // scan a.0  0@1 1@2 S0@3 D@4;  scan a.1: 1@2 S0@3, row 1 empty: S1@4, D@5
  // repeat root by i: 0@2 0@3 S0@4 D@5
  // repeat that by j: 0@3, S0@4 (takes row 0's), S1@5 (takes row 1's, arrives 4, and S0, arrives
  // 5), D@6 locate x.0: 1@4 S0@5 S1@6 D@7; array x 5 6 7 8; array a 3 4 5 6; mul 6 7 8 9 reduce: 40
  // at 7, S0@8 gives it, S1@9 gives 0 and S0, D@10; write 9 10, S0 and D 11. cycles = 12
  GraphBuilder g;
  const TensorId a = g.input("a", {2, 2}, "dense,compressed", {0, 2, 0, 0});
  const TensorId x = g.input("x", {2}, "dense", {10, 20});
  const TensorId y = g.output("y", {2}, "dense");
  const int i = g.index("i", 2);
  const int j = g.index("j", 2);
  const StreamId root = g.root();
  const auto [ci, ri] = g.scan(a, 0, root, i);
  const auto [cj, rj] = g.scan(a, 1, ri, j);
  const StreamId by_i = g.repeat(root, ci);
  const StreamId by_j = g.repeat(by_i, cj);
  const StreamId at = g.locate(x, 0, by_j, {cj});
  const StreamId sum = g.reduce(ci, g.map(Op::mul, {g.array(a, rj), g.array(x, at)}));
  g.write_values(y, {ci, sum});
  const RunResult r = run(g);
  EXPECT_EQ(show(g.graph, r, by_i), "0@2 0@3 S0@4 D@5");
  EXPECT_EQ(show(g.graph, r, by_j), "0@3 S0@4 S1@5 D@6");
  EXPECT_EQ(show(g.graph, r, at), "1@4 S0@5 S1@6 D@7");
  EXPECT_EQ(show(g.graph, r, sum), "40@8 0@9 S0@9 D@10");
  EXPECT_EQ(r.cycles, 12);
}

TEST_P(Micro, LocateSearches) {
  // z[j] = x[j] at the coordinates {4, 5}; x has 1, 4, 7: a search takes ceil(log2(4)) = 2 steps.
  // scan a: 4@1 5@2 S0@3 D@4; repeat root: 0@2 0@3 S0@4 D@5
  // locate: a probe at 3, found at 4; a probe at 5, nothing at 6; S0@7 D@8
  GraphBuilder g;
  const TensorId a = g.input("a", {10}, "compressed", {0, 0, 0, 0, 1, 1, 0, 0, 0, 0});
  const TensorId x = g.input("x", {10}, "compressed", {0, 2, 0, 0, 3, 0, 0, 4, 0, 0});
  const TensorId z = g.output("z", {10}, "compressed");
  const int j = g.index("j", 10);
  const StreamId root = g.root();
  const auto [crd, ref] = g.scan(a, 0, root, j);
  const StreamId at = g.locate(x, 0, g.repeat(root, crd), {crd});
  g.write_level(z, 0, {crd});
  g.write_values(z, {g.array(x, at)});
  const RunResult r = run(g);
  EXPECT_EQ(show(g.graph, r, at), "1@4 N@6 S0@7 D@8");
  EXPECT_EQ(r.cycles, 11);  // array @5 @7 S0@8 D@9, write @6 @8, S0 and D @10
}

/// z[j] = sum(k) M[k, j] by an accumulator.
struct ColumnSums {
  GraphBuilder b;
  std::vector<StreamId> out;

  ColumnSums() {
    const TensorId m = b.input("m", {3, 3}, "dense,compressed", {1, 0, 2, 0, 0, 0, 0, 0, 3});
    const TensorId z = b.output("z", {3}, "compressed");
    const int k = b.index("k", 3);
    const int j = b.index("j", 3);
    const StreamId root = b.root();
    const auto [ck, rk] = b.scan(m, 0, root, k);
    const auto [cj, rj] = b.scan(m, 1, rk, j);
    out = b.accumulate(1, {root, ck, cj, b.array(m, rj)});
    b.write_level(z, 0, {out[0]});
    b.write_values(z, {out[1]});
  }
};

TEST_P(Micro, AccumulateOneLoop) {
  // rows {0: 1, 2: 2}, {}, {2: 3}
  // scan m.1  0@2 2@3 S0@4 S0@5 2@6 S1@7 D@8; array 3 4 5 6 7 8 9
  // accumulate takes 4 5 6 7 8; S1 (arrives 9) starts the flush: 0@9, 2@10, S0@11; D@12
  // write     0@10 2@11 S0@12 D@13. cycles = 14
  const ColumnSums s;
  const RunResult r = run(s.b);
  EXPECT_EQ(show(s.b.graph, r, s.out[0]), "0@9 2@10 S0@11 D@12");
  EXPECT_EQ(show(s.b.graph, r, s.out[1]), "1@9 5@10 S0@11 D@12");
  EXPECT_EQ(r.cycles, 14);
}

TEST_P(Micro, AccumulateDrainsAtOnce) {
  // The whole flush at 9, D@10. write 0@10 2@11, S0 and D 12. cycles = 13
  const ColumnSums s;
  const RunResult once = run(s.b, load_machine("ideal", {"accumulate_drain_interval_cycles=0"}));
  EXPECT_EQ(show(s.b.graph, once, s.out[1]), "1@9 5@9 S0@9 D@10");
  EXPECT_EQ(once.cycles, 13);
  // Machine comal: the inner stop S1@9 gives nothing, the outer stop is a step of its own: the
  // whole flush at 10, D@11. write 0@11 2@12, S0 and D 13. cycles = 14
  const RunResult comal = run(s.b, load_machine("comal"));
  EXPECT_EQ(show(s.b.graph, comal, s.out[1]), "1@10 5@10 S0@10 D@11");
  EXPECT_EQ(comal.cycles, 14);
}

TEST_P(Micro, AccumulateTwoLoops) {
  // k = 0: (0,0): 1, (0,1): 2, (2,1): 3; k = 1: (0,1): 4
  // scan .0 0@1 1@2 S0@3 D@4; scan .1 0@2 2@3 S0@4 0@5 S1@6 D@7
  // scan .2 0@3 1@4 S0@5 (needs 2, arrives 4) 1@6 S1@7 1@8 S2@9 D@10; array 4 5 6 7 8 9 10 11
  // accumulate takes 5 6 S0@7 8 S1@9 10; S2 at 11 starts the flush: (0,0)@11 (0,1)@12, the end of
  // 0's fiber @13, (2,1)@14, the end @15; D@16
  GraphBuilder g;
  const TensorId t =
      g.input("t", {2, 3, 2}, "dense,compressed,compressed", {1, 2, 0, 0, 0, 3, 0, 4, 0, 0, 0, 0});
  const TensorId y = g.output("y", {3, 2}, "compressed,compressed");
  const int k = g.index("k", 2);
  const int i = g.index("i", 3);
  const int j = g.index("j", 2);
  const StreamId root = g.root();
  const auto [ck, rk] = g.scan(t, 0, root, k);
  const auto [ci, ri] = g.scan(t, 1, rk, i);
  const auto [cj, rj] = g.scan(t, 2, ri, j);
  const auto out = g.accumulate(2, {root, ck, ci, cj, g.array(t, rj)});
  g.write_level(y, 0, {out[0]});
  g.write_level(y, 1, {out[1]});
  g.write_values(y, {out[2]});
  const RunResult r = run(g);
  EXPECT_EQ(show(g.graph, r, out[0]), "0@11 2@14 S0@15 D@16");
  EXPECT_EQ(show(g.graph, r, out[1]), "0@11 1@12 S0@13 1@14 S1@15 D@16");
  EXPECT_EQ(show(g.graph, r, out[2]), "1@11 6@12 S0@13 3@14 S1@15 D@16");
  EXPECT_EQ(r.cycles, 18);
}

/// Rows of a dense,compressed matrix without the empty ones.
struct Dropped {
  GraphBuilder b;
  std::vector<StreamId> out;

  Dropped(int64_t rows, std::vector<float> values) {
    const TensorId a = b.input("a", {rows, 2}, "dense,compressed", std::move(values));
    const TensorId y = b.output("y", {rows, 2}, "compressed,compressed");
    const int i = b.index("i", rows);
    const int j = b.index("j", 2);
    const auto [ci, ri] = b.scan(a, 0, b.root(), i);
    const auto [cj, rj] = b.scan(a, 1, ri, j);
    out = b.drop({ci}, {cj, b.array(a, rj)});
    b.write_level(y, 0, {out[0]});
    b.write_level(y, 1, {out[1]});
    b.write_values(y, {out[2]});
  }
};

TEST_P(Micro, DropMergesStops) {
  // rows {}, {0: 5}, {}, {}: scan .1 S0@3 0@4 S0@5 S0@6 S1@7 D@8; the values one later
  // drop waits for values: S0@5, 0@6 gives row 1, S0@7 held, S0@8, S1@9 gives S1 and S0, D@10
  const Dropped d(4, {0, 0, 5, 0, 0, 0, 0, 0});
  const RunResult r = run(d.b);
  EXPECT_EQ(show(d.b.graph, r, d.out[0]), "1@6 S0@9 D@10");
  EXPECT_EQ(show(d.b.graph, r, d.out[1]), "0@6 S1@9 D@10");
  EXPECT_EQ(show(d.b.graph, r, d.out[2]), "5@6 S1@9 D@10");
}

TEST_P(Micro, DropHoldsAStopBack) {
  // rows {0: 5}, {}, {1: 6}: scan .1 0@2 S0@3 S0@4 1@5 S1@6 D@7; values 3 4 5 6 7 8
  // drop 0@4, S0@5 held, S0@6, 1@7 gives S0 and 1, S1@8, D@9
  const Dropped d(3, {5, 0, 0, 0, 0, 6});
  const RunResult r = run(d.b);
  EXPECT_EQ(show(d.b.graph, r, d.out[0]), "0@4 2@7 S0@8 D@9");
  EXPECT_EQ(show(d.b.graph, r, d.out[1]), "0@4 S0@7 1@7 S1@8 D@9");
}

TEST_P(Micro, DropOfEverything) {
  // rows {}, {}: scan .1 S0@3 S1@4 D@5; values 4 5 6; drop S0@5, S1@6: closes nothing; D@7
  const Dropped d(2, {0, 0, 0, 0});
  const RunResult r = run(d.b);
  EXPECT_EQ(show(d.b.graph, r, d.out[0]), "S0@6 D@7");
  EXPECT_EQ(show(d.b.graph, r, d.out[1]), "S1-@6 D@7");
}

TEST_P(Micro, FilterAndCoordinate) {
  // x = {0, 5, 0}: scan 0@1 1@2 2@3 S0@4 D@5; array 2 3 4 5 6; filter 3 4 5 6 7 gives 1 only
  // coordinate of it: 5 7 8
  GraphBuilder g;
  const TensorId x = g.input("x", {3}, "dense", {0, 5, 0});
  const TensorId y = g.output("y", {3}, "compressed");
  const auto [ci, ri] = g.scan(x, 0, g.root(), g.index("i", 3));
  const auto kept = g.filter(g.array(x, ri), {ci});
  const StreamId number = g.pass(NodeKind::coordinate, kept[0], StreamKind::val);
  g.write_level(y, 0, {kept[0]});
  g.write_values(y, {number});
  const RunResult r = run(g);
  EXPECT_EQ(show(g.graph, r, kept[0]), "1@4 S0@6 D@7");
  EXPECT_EQ(show(g.graph, r, number), "1@5 S0@7 D@8");
}

TEST_P(Micro, AlignInsertsAndDrains) {
  // to = {0, 2}, from = {1, 2} with fibers {0} and {1}
  // to 0@1 2@2 S0@3 D@4; from 1@1 2@2 S0@3 D@4; x 0@2 S0@3 1@4 S1@5 D@6
  // align inserts 0's empty fiber when the next of `to` (2) has arrived: S0@3; drains 0@4 S0@5;
  // 1 arrives 5: @6; S1 arrives 6: S1@7 with `to`'s S0; D@8
  GraphBuilder g;
  const TensorId a = g.input("a", {3, 2}, "compressed,compressed", {0, 0, 7, 0, 0, 8});
  const TensorId b = g.input("b", {3}, "compressed", {1, 0, 1});
  const TensorId y = g.output("y", {3, 2}, "compressed,compressed");
  const int i = g.index("i", 3);
  const int j = g.index("j", 2);
  const StreamId root = g.root();
  const auto [bi, br] = g.scan(b, 0, root, i);
  const auto [ai, ar] = g.scan(a, 0, root, i);
  const auto [cj, rj] = g.scan(a, 1, ar, j);
  const StreamId moved = g.align(bi, ai, cj);
  const StreamId moved_ref = g.align(bi, ai, rj);
  g.write_level(y, 0, {bi});
  g.write_level(y, 1, {moved});
  g.write_values(y, {g.array(a, moved_ref)});
  const RunResult r = run(g);
  EXPECT_EQ(show(g.graph, r, moved), "S0@3 1@6 S1@7 D@8");
  EXPECT_EQ(r.results[0].second->levels[1].pos, (std::vector<uint32_t>{0, 0, 1}));
}

/// y[i] = x[i], x dense of 4: scan, load, write.
struct Copy {
  GraphBuilder b;
  StreamId crd, ref, value;

  Copy() {
    const TensorId x = b.input("x", {4}, "dense", {1, 2, 3, 4});
    const TensorId y = b.output("y", {4}, "dense");
    const auto [ci, ri] = b.scan(x, 0, b.root(), b.index("i", 4));
    crd = ci;
    ref = ri;
    value = b.array(x, ri);
    b.write_values(y, {ci, value});
  }
};

TEST_P(Micro, ParallelizeAndSerialize) {
  // root 0@0 D@1; scan of 4 elements 0@1 1@2 2@3 3@4; the stop (D arrived at 2) S0@5, D@6
  // parallelize takes them at 2 3 4 5, S0 at 6, D at 7; fiber 0 starts with copy 0
  // serialize: heads 0 (arrives 3) of copy 0, 1 (4) of copy 1, 2 (5), 3 (6); both stops arrive at
  // 7: S0@7, D@8 array 4 5 6 7, S0@8 D@9; reduce gives the sum at 9, D@10; write value@10, D@11:
  // cycles = 12
  GraphBuilder b;
  const TensorId a = b.input("a", {4}, "dense", {1, 2, 3, 4});
  const TensorId y = b.output("y", {}, "scalar");
  const StreamId root = b.root();
  const auto [crd, ref] = b.scan(a, 0, root, b.index("i", 4));
  const auto copies = b.parallelize(ref, 2);
  const StreamId whole = b.serialize(copies);
  b.write_values(y, {b.reduce(root, b.array(a, whole))});
  const RunResult r = run(b);
  EXPECT_EQ(show(b.graph, r, copies[0]), "0@2 2@4 S0@6 D@7");
  EXPECT_EQ(show(b.graph, r, copies[1]), "1@3 3@5 S0@6 D@7");
  EXPECT_EQ(show(b.graph, r, whole), "0@3 1@4 2@5 3@6 S0@7 D@8");
  EXPECT_EQ(r.cycles, 12);
  EXPECT_EQ(scalar(r), 10);
}

TEST_P(Micro, LatencyAndInterval) {
  // Loads take 5 cycles and start every 2: scan 1 2 3 4 5 6; array 2 4 6 8 10 12, arriving 5 later
  // write 7 9 11 13, S0 15, D 17. cycles = 18
  const Copy c;
  const RunResult r =
      run(c.b,
          load_machine("ideal", {"units.array.latency_cycles=5", "units.array.interval_cycles=2"}));
  EXPECT_EQ(show(c.b.graph, r, c.value), "1@2 2@4 3@6 4@8 S0@10 D@12");
  EXPECT_EQ(r.cycles, 18);
  EXPECT_EQ(r.nodes[2].busy, 12);
}

TEST_P(Micro, SlowWriterAndShallowStreams) {
  // The writer takes one value in 3 cycles: w = 3 6 9 12. Depth 2: token k waits for take(k-2) + 1.
  // scan   s0 = 1, s1 = 2, s2 = max(3, w0+1) = 4, s3 = w1+1 = 7, S0 = w2+1 = 10, D = w3+1 = 13
  // array  a0 = 2, a1 = 3, a2 = 5, a3 = 8, S0 = 11, D = 14
  // write  S0 after 4's 3 cycles: 15, D arrives 15: 15. cycles = 16
  // scan is blocked 1 + 2 + 2 + 2 cycles.
  const Copy c;
  const RunResult r =
      run(c.b, load_machine("ideal", {"units.write.interval_cycles=3", "fifo_depth=2"}));
  EXPECT_EQ(show(c.b.graph, r, c.ref), "0@1 1@2 2@4 3@7 S0@10 D@13");
  EXPECT_EQ(show(c.b.graph, r, c.value), "1@2 2@3 3@5 4@8 S0@11 D@14");
  EXPECT_EQ(r.cycles, 16);
  EXPECT_EQ(r.nodes[1].blocked, 7);
  EXPECT_EQ(r.nodes[1].busy, 6);
  EXPECT_EQ(r.nodes[1].starved, 3);
  EXPECT_EQ(r.streams[c.crd].blocked, 7);  // the array takes references as they come
  EXPECT_EQ(r.streams[c.ref].blocked, 0);
  EXPECT_EQ(r.streams[c.value].blocked, 0);
}

TEST_P(Micro, PeakIsTheLeastDepthThatChangesNothing) {
  const Copy c;
  const RunResult free = run(c.b, load_machine("ideal", {"units.write.interval_cycles=3"}));
  const std::string depth = std::to_string(free.peak_fifo_tokens);
  const std::string less = std::to_string(free.peak_fifo_tokens - 1);
  const RunResult same =
      run(c.b, load_machine("ideal", {"units.write.interval_cycles=3", "fifo_depth=" + depth}));
  const RunResult other =
      run(c.b, load_machine("ideal", {"units.write.interval_cycles=3", "fifo_depth=" + less}));
  EXPECT_EQ(show(c.b.graph, free, c.ref), show(c.b.graph, same, c.ref));
  EXPECT_NE(show(c.b.graph, free, c.ref), show(c.b.graph, other, c.ref));
}

TEST_P(Micro, DepthOneHalvesTheRate) {
  // Depth 1: token k waits for take(k-1) + 1. scan s0 = 1, taken by the array at 2, so s1 = 3, but
  // the writer takes coordinate 0 only at 3: s1 = 4. Then the same again: a period of 3.
  const Copy c;
  const RunResult r = run(c.b, load_machine("ideal", {"fifo_depth=1"}));
  EXPECT_EQ(show(c.b.graph, r, c.ref), "0@1 1@4 2@7 3@10 S0@13 D@16");
  EXPECT_EQ(r.cycles, 19);
}

/// y[i, j] = x[i, j] / sum(j) x[i, j]: the values reconverge with their own sum.
struct Normalize {
  GraphBuilder b;
  StreamId value;

  explicit Normalize(int64_t buffer = -1) {
    const TensorId x = b.input("x", {2, 3}, "dense,dense", {1, 2, 3, 4, 5, 6});
    const TensorId y = b.output("y", {2, 3}, "dense,dense");
    const int i = b.index("i", 2);
    const int j = b.index("j", 3);
    const auto [ci, ri] = b.scan(x, 0, b.root(), i);
    const auto [cj, rj] = b.scan(x, 1, ri, j);
    value = b.array(x, rj);
    const StreamId held =
        buffer < 0 ? value : b.pass(NodeKind::buffer, value, StreamKind::val, buffer);
    const StreamId sum = b.repeat(b.reduce(ci, value), cj);
    b.write_values(y, {ci, cj, b.map(Op::div, {held, sum})});
  }
};

TEST_P(Micro, ReconvergingPathDeadlocks) {
  // The division needs the sum, the sum all 3 values and their stop; depth 2 holds 2 of them.
  const Normalize n;
  const RunResult r = run(n.b, load_machine("ideal", {"fifo_depth=2"}));
  ASSERT_EQ(r.finish, Finish::deadlock);
  ASSERT_FALSE(r.deadlock.cycle.empty());
  EXPECT_TRUE(std::any_of(r.deadlock.cycle.begin(), r.deadlock.cycle.end(),
                          [](const Wait& wait) { return wait.full; }));
  if (GetParam() != Runs::fast_by_tokens) {  // (run_graph tries the least depth with which it ends)
    EXPECT_EQ(r.deadlock.advice.depth, 4);
    EXPECT_EQ(r.deadlock.advice.tried, 3);
  }
  for (const int depth : {3, 4}) {
    const Machine machine = load_machine("ideal", {"fifo_depth=" + std::to_string(depth)});
    EXPECT_EQ(run(n.b, machine).finish, depth == 3 ? Finish::deadlock : Finish::done);
  }
  EXPECT_NE(explain_deadlock(n.b.graph, r.deadlock).find("waits for"), std::string::npos);
}

TEST_P(Micro, LimitsEndARun) {
  const Copy c;
  RunOptions options;
  options.full_streams = true;
  options.executor = executor();
  options.max_cycles = 5;
  EXPECT_EQ(run_graph(c.b.program, c.b.graph, c.b.data, {}, options).finish, Finish::max_cycles);
}

}  // namespace
}  // namespace fuseflow
