// The fast executor works out times by runs: what is regular costs a constant number of them.
#include <gtest/gtest.h>

#include "sim_graph.h"

namespace fuseflow {
namespace {

using testing::GraphBuilder;

/// sum(i) a[i] * b[i] over dense vectors.
int64_t operations(int64_t n) {
  GraphBuilder g;
  const std::vector<float> ones(static_cast<size_t>(n), 1.0F);
  const TensorId a = g.input("a", {n}, "dense", ones);
  const TensorId b = g.input("b", {n}, "dense", ones);
  const TensorId y = g.output("y", {}, "scalar");
  const StreamId root = g.root();
  const auto [crd, ar] = g.scan(a, 0, root, g.index("i", n));
  const StreamId br = g.locate(b, 0, g.repeat(root, crd), {crd});
  g.write_values(y, {g.reduce(root, g.map(Op::mul, {g.array(a, ar), g.array(b, br)}))});
  RunOptions options;
  const RunResult r = run_graph(g.program, g.graph, g.data, {}, options);
  EXPECT_EQ(r.finish, Finish::done);
  EXPECT_EQ(r.results[0].second->values[0], static_cast<float>(n));
  // root's reference at 0, n elements at 1 .. n, their stop at n + 1, done at n + 2; done passes
  // repeat, locate, array, mul, reduce and the writer, a cycle each: its last step is at n + 8.
  EXPECT_EQ(r.cycles, n + 9);
  return r.timing_operations;
}

TEST(Runs, ADenseFiberOfAMillionTokensCostsAsManyTimesAsAShortOne) {
  const int64_t few = operations(1000);
  EXPECT_LE(operations(100'000), few);
  EXPECT_LE(operations(1'000'000), few);
  EXPECT_LT(few, 50);
}

}  // namespace
}  // namespace fuseflow
