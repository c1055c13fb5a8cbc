// The one planner of a program, and the graph that all of its kernels are made with.
#include "cluster/plan.h"

#include <gtest/gtest.h>

#include "cluster/common/tile_graph.h"
#include "cluster_program.h"
#include "ir/print.h"
#include "machine/load.h"

namespace fuseflow::cluster {
namespace {

/// A chain, and a statement of two reductions after it.
const char* const kChainAndReductions =
    "input %x: f32[32, 64] dense,dense = uniform(density=1,seed=1)\n"
    "const %v: f32[64, 48] dense,dense = uniform(density=1,seed=2)\n"
    "const %w: f32[48, 32] dense,dense = uniform(density=1,seed=3)\n"
    "temp %p: f32[32, 48] dense,dense\n"
    "temp %s: f32[32, 32] dense,dense\n"
    "result %y: f32[32] dense\n"
    "region @p { %p[i, n] = sum(k) %x[i, k] * %v[k, n] }\n"
    "region @s { %s[i, l] = sum(n) %p[i, n] * %w[n, l] }\n"
    "region @y { %y[i] = sum(l) %s[i, l] + max(m) %s[i, m] }\n";

/// What was heard, a letter an event.
class Heard : public PlanListener {
 public:
  void on(const Program&, const std::vector<OnlineOutcome>&) override { events += 'o'; }
  void on(const Program&, const std::vector<FoundChain>& chains,
          const std::vector<RefusedChain>&) override {
    events += "f" + std::to_string(chains.size());
  }
  void on(const Program&, const FoundChain&, const ChainOutcome& chain) override {
    events += 'c';
    apart = chain.choice.separate.cycles;
  }
  void on(const Program&, const DroppedChain&) override { events += 'd'; }
  void on(const Program&, const std::vector<DividedStatement>& divided) override {
    events += "s" + std::to_string(divided.size());
  }
  void on(const Program&, const RemainingKernels&) override { events += 'r'; }

  std::string events;
  int64_t apart = 0;
};

TEST(Plan, ListenersHearWhatItDoesAndChangeNothing) {
  const Machine machine = load_machine("h100");
  const Program given = parse(kChainAndReductions);
  for (const PlanStrategy strategy :
       {PlanStrategy::none, PlanStrategy::chains, PlanStrategy::tiles}) {
    Heard heard;
    PlanListener deaf;
    const Program planned = plan(given, machine, {.strategy = strategy}, heard);
    EXPECT_EQ(print_program(planned),
              print_program(plan(given, machine, {.strategy = strategy}, deaf)));
    const bool tiles = strategy == PlanStrategy::tiles;
    std::erase(heard.events, 'd');
    EXPECT_EQ(heard.events, strategy == PlanStrategy::none ? "s1r" : tiles ? "of1cs1r" : "of1cr");
    EXPECT_EQ(heard.apart > 0, strategy != PlanStrategy::none);
    const auto streams = std::count_if(planned.regions.begin(), planned.regions.end(),
                                       [](const Region& region) { return !region.graph; });
    EXPECT_EQ(streams, strategy == PlanStrategy::chains ? 1 : 0);
  }
}

TEST(TileGraph, DimensionsNumberTheirLoopsAndHaveNamesOfTheirOwn) {
  TileGraphBuilder builder({{"i", 6}, {"one_k", 4}});
  builder.dimension("m", {1}, 3, 2);
  builder.dimension("n", {0}, 4);
  builder.dimension("k", {}, 1);
  const Input x = builder.load(0, {TileSubscript{{{0, 1}, {1, 6}}, 2}}, {0, 1}, 2);
  builder.store(1, {TileSubscript{{{1, 1}}, 0}}, builder.map(Op::relu, {x}, {0, 1}, "v"));
  const Graph graph = builder.take();
  EXPECT_EQ(graph.indices[0].extent, 2);  // two cores, a tile each
  EXPECT_EQ(graph.indices[1].extent, 2);
  EXPECT_EQ(graph.indices[2].tiling.digits[0].name, "one_k_1");
  const TileSubscript read = graph.nodes[0].tile.subscripts[0];  // loop i is digit 1, one_k is 0
  EXPECT_EQ(read, (TileSubscript{{{1, 1}, {0, 6}}, 2}));
  EXPECT_EQ(graph.nodes[0].capacity, 2);
  EXPECT_EQ(graph.nodes[2].inputs[0].stream, graph.nodes[1].outputs[0]);
}

}  // namespace
}  // namespace fuseflow::cluster
