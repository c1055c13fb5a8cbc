// Cycle counts of micro-cases, worked out by hand from ir-spec/timing.md; the arithmetic is beside
// each case. Notation: token@step time. On machine ideal every latency and interval is 1, so a token
// given at t is used at t+1 at the earliest.
#include <gtest/gtest.h>

#include "sim_graph.h"

namespace fuseflow {
namespace {

using testing::GraphBuilder;
using testing::show;

struct VectorProduct {
  GraphBuilder b;
  StreamId a_crd, c_crd, both, product, sum;
  TensorId y;

  VectorProduct(std::vector<float> a_values, std::vector<float> c_values,
                const std::string& format = "compressed") {
    const auto n = static_cast<int64_t>(a_values.size());
    const TensorId a = b.input("a", {n}, format, std::move(a_values));
    const TensorId c = b.input("c", {n}, format, std::move(c_values));
    y = b.output("y", {}, "scalar");
    const int i = b.index("i", n);
    const StreamId root = b.root();
    const auto [ai, ar] = b.scan(a, 0, root, i);
    const auto [ci, cr] = b.scan(c, 0, root, i);
    const auto joined = b.join(NodeKind::intersect, {{ai, ar}, {ci, cr}});
    a_crd = ai;
    c_crd = ci;
    both = joined[0];
    product = b.map(Op::mul, {b.array(a, joined[1]), b.array(c, joined[2])});
    sum = b.reduce(root, product);
    b.write_values(y, {sum});
  }
};

float scalar(const RunResult& result) { return result.results.at(0).second->values[0]; }

TEST(Micro, SparseVectorProduct) {
  // root      0@0 D@1
  // scan a    0@1 2@2, the stop needs D (arrives 2): S0@3, D@4. scan c: 2@1 3@2 S0@3 D@4
  // intersect coordinates met: 0@2 (both heads arrive at 2), 2@3 given, 3@4 (a's stop arrives at 4),
  //           S0@5, D@6
  // array     2@4 S0@6 D@7;  mul 5, 7, 8;  reduce: 2*3 at 6, S0 arrives 8: value@8, D@9
  // write     value arrives 9: @9, D@10. cycles = 10 + 1
  VectorProduct v({1, 0, 2, 0}, {0, 0, 3, 4});
  const RunResult r = v.b.run();
  EXPECT_EQ(show(v.b.graph, r, v.a_crd), "0@1 2@2 S0@3 D@4");
  EXPECT_EQ(show(v.b.graph, r, v.product), "6@5 S0@7 D@8");
  EXPECT_EQ(show(v.b.graph, r, v.sum), "6@8 D@9");
  EXPECT_EQ(r.cycles, 11);
  EXPECT_EQ(scalar(r), 6);
}

}  // namespace
}  // namespace fuseflow
