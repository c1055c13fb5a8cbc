// The fast executor works out times by runs: what is regular costs a constant number of them.
#include <gtest/gtest.h>

#include "sim/functional/kernels/make_node.h"
#include "sim/timing/solver.h"
#include "sim_graph.h"

namespace fuseflow {
namespace {

using testing::GraphBuilder;

/// sum(i) a[i] * b[i] over dense vectors.
GraphBuilder dot_product(int64_t n) {
  GraphBuilder g;
  const std::vector<float> ones(static_cast<size_t>(n), 1.0F);
  const TensorId a = g.input("a", {n}, "dense", ones);
  const TensorId b = g.input("b", {n}, "dense", ones);
  const TensorId y = g.output("y", {}, "scalar");
  const StreamId root = g.root();
  const auto [crd, ar] = g.scan(a, 0, root, g.index("i", n));
  const StreamId br = g.locate(b, 0, g.repeat(root, crd), {crd});
  g.write_values(y, {g.reduce(root, g.map(Op::mul, {g.array(a, ar), g.array(b, br)}))});
  return g;
}

/// Finds, of the segments that come to ports, the most times that one has, where a run counts as
/// one and each token outside of runs as one.
class MostTimes final : public engine::PortObserver {
 public:
  void arrive(engine::Segment& segment) override {
    const engine::Times& times = *segment.arrivals.times;
    size_t count = 0;
    for (size_t p = 0; p < times.pieces.size(); ++p) {
      const bool last = p + 1 == times.pieces.size();
      const uint32_t end = last ? times.count : times.pieces[p + 1].first;
      count += times.pieces[p].step == engine::kExplicit ? end - times.pieces[p].first : 1;
    }
    most_ = std::max(most_, count);
  }
  void take(const engine::TimeRef&, const engine::TimeRef&, uint32_t) override {}
  size_t most() const { return most_; }

 private:
  size_t most_ = 0;
};

/// Works a graph whose nodes have a clock each to its end.
size_t most_times(const GraphBuilder& g) {
  const Machine machine;
  const std::vector<UnitTiming> timings = node_timings(g.program, machine, g.graph);
  const engine::Context context{g.program, g.graph, machine, timings, g.data};
  MostTimes times;
  std::vector<engine::Output> outputs(g.graph.streams.size());
  for (engine::Output& output : outputs) output.payload_read = true;
  engine::NodePorts ports(g.graph.nodes.size());
  std::vector<std::unique_ptr<engine::EngineNode>> nodes;
  for (size_t n = 0; n < g.graph.nodes.size(); ++n) {
    nodes.push_back(engine::make_node(context, static_cast<NodeId>(n)));
    for (const Input& input : g.graph.nodes[n].inputs) {
      ports[n].push_back(std::make_unique<engine::Port>());
      ports[n].back()->observer = &times;
      outputs[static_cast<size_t>(input.stream)].ports.push_back(ports[n].back().get());
      nodes[n]->ports.push_back(ports[n].back().get());
    }
    for (const StreamId stream : g.graph.nodes[n].outputs) {
      nodes[n]->outputs.push_back(stream < 0 ? nullptr : &outputs[static_cast<size_t>(stream)]);
    }
  }
  engine::Solver solver(g.graph, machine, timings, ports);
  solver.start_untimed(nodes);
  for (bool any = true; any;) {
    any = false;
    for (const auto& node : nodes) any = node->work() || any;
  }
  for (const auto& node : nodes) EXPECT_TRUE(node->ended());
  return times.most();
}

TEST(Runs, ADenseFiberOfAMillionTokensCostsAsManyTimesAsAShortOne) {
  const size_t few = most_times(dot_product(1000));
  EXPECT_GT(few, 0U);
  EXPECT_LT(few, 8U);
  EXPECT_LE(most_times(dot_product(100'000)), few);
  EXPECT_LE(most_times(dot_product(1'000'000)), few);
}

TEST(Runs, StepsThatWaitForTwoRunsAreRuns) {
  constexpr uint32_t kSteps = 1'000'000;
  constexpr int64_t kMeet = 600'000;  // up to here the slower one is behind
  engine::TimesBuilder slow;
  engine::TimesBuilder fast;
  slow.append(kSteps, 0, 3);
  fast.append(kSteps, kMeet, 2);
  std::vector<engine::TimeRef> arrivals = {{slow.finish(), 0, 0}, {fast.finish(), 0, 0}};
  engine::Pace pace;
  const engine::TimeRef steps = engine::step_times(pace, arrivals, kSteps);
  EXPECT_EQ(steps.times->pieces.size(), 2U);
  EXPECT_TRUE(steps.times->value.empty());
  for (const int64_t k : {int64_t{0}, kMeet - 1, kMeet, kMeet + 1, int64_t{kSteps - 1}}) {
    EXPECT_EQ(steps.at(static_cast<uint32_t>(k)), std::max(3 * k, kMeet + 2 * k)) << k;
  }
}

TEST(Runs, StepsWaitForEachOfManyInputs) {
  constexpr uint32_t kInputs = 70;
  constexpr uint32_t kSteps = 50;
  constexpr int64_t kInterval = 2;
  std::vector<engine::TimeRef> arrivals;
  std::vector<int64_t> bounds(kSteps, 0);
  for (uint32_t i = 0; i < kInputs; ++i) {
    engine::TimesBuilder times;
    int64_t time = 10;
    for (uint32_t k = 0; k < kSteps; ++k) {
      time += 1 + (i * 7 + k * 3) % 5 + (k == i % kSteps ? 20 : 0);
      times.append(time);
    }
    arrivals.push_back({times.finish(), 0, i + 1 == kInputs ? 40 : 0});  // the last is often late
    for (uint32_t k = 0; k < kSteps; ++k) {
      bounds[k] = std::max(bounds[k], arrivals.back().at(k));
    }
  }
  engine::Pace pace;
  pace.interval = kInterval;
  const engine::TimeRef steps = engine::step_times(pace, arrivals, kSteps);
  int64_t next = 0;
  for (uint32_t k = 0; k < kSteps; ++k) {
    const int64_t expected = std::max(next, bounds[k]);
    ASSERT_EQ(steps.at(k), expected) << k;
    next = expected + kInterval;
  }
  EXPECT_EQ(pace.free, next);
}

TEST(Runs, ADenseFiberOfAMillionTokensIsSummedUp) {
  constexpr int64_t kElements = 1'000'000;
  const GraphBuilder g = dot_product(kElements);
  const RunResult r = run_graph(g.program, g.graph, g.data, {}, {});
  EXPECT_EQ(r.finish, Finish::done);
  EXPECT_EQ(r.results[0].second->values[0], static_cast<float>(kElements));
  // root's reference at 0, n elements at 1 .. n, their stop at n + 1, done at n + 2; done passes
  // repeat, locate, array, mul, reduce and the writer, a cycle each: its last step is at n + 8.
  EXPECT_EQ(r.cycles, kElements + 9);
}

}  // namespace
}  // namespace fuseflow
