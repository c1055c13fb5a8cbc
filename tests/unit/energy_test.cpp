// Energy: what operators are made of, prices, and the Pareto front of a search.
#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <string>

#include "energy/price.h"
#include "explore/pareto.h"
#include "machine/load.h"
#include "resources/operators.h"
#include "support/error.h"

namespace fuseflow {
namespace {

TEST(EnergyOperators, PartsAreTheFlops) {
  for (size_t o = 0; o < static_cast<size_t>(Op::count_); ++o) {
    const auto op = static_cast<Op>(o);
    const Parts parts = parts_of(op);
    EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), 0), op_info(op).flops)
        << op_info(op).name;
  }
}

TEST(EnergyActions, EveryActionHasOneNameAndOnePrice) {
  Machine machine;
  machine.energy.leakage_pj_per_cycle_per_mm2 = 3;
  std::set<std::string> names;
  for (ActionId a = 0; a < kActions; ++a) {
    const ActionInfo info = action_info(a);
    EXPECT_TRUE(names.insert(std::string(info.component) + "." + std::string(info.name)).second);
  }
  EXPECT_EQ(prices_of(machine, 2)[kLeak], 6);
}

/// A map of one operator in a graph of two streams; `block`: its values extend over a loop of 4.
Graph one_map(Op op, bool block) {
  Graph graph;
  graph.indices.push_back({"b", 2, 4});
  graph.streams.resize(2);
  graph.streams[1].producer = 1;
  if (block) graph.streams[0].block = graph.streams[1].block = {0};
  graph.nodes.resize(2);
  graph.nodes[0].outputs = {0};
  graph.nodes[1].kind = NodeKind::map;
  graph.nodes[1].op = op;
  graph.nodes[1].inputs.resize(1);
  graph.nodes[1].inputs[0].stream = 0;
  graph.nodes[1].outputs = {1};
  return graph;
}

TEST(EnergyActions, AMapByHand) {
  const Graph graph = one_map(Op::sigmoid, false);
  RegionWork work;
  work.nodes.resize(2);
  work.nodes[1].flops = 12;  // three values
  work.nodes[1].steps = 4;
  work.nodes[1].words_in = 4;
  work.bursts = 2;
  work.cycles = 10;
  const RegionActions actions = region_actions(graph, Machine{}, work);
  const Actions& map = actions.nodes[1];
  EXPECT_EQ(map[operation(Arithmetic::special, Width::w32)], 3);
  EXPECT_EQ(map[operation(Arithmetic::add, Width::w32)], 3);
  EXPECT_EQ(map[operation(Arithmetic::mul, Width::w32)], 0);
  EXPECT_EQ(map[step_of(UnitClass::alu)], 4);
  EXPECT_EQ(map[kFifoWord], 4);
  EXPECT_EQ(actions.memory[kDramBurst], 2);
  EXPECT_EQ(actions.leakage[kLeak], 10);
}

TEST(EnergyActions, AProductOfBlocks) {
  Graph graph = one_map(Op::mul, true);
  graph.nodes[1].contract = {0};
  RegionWork work;
  work.nodes.resize(2);
  work.nodes[1].flops = 70;  // ten elements of depth 4
  const Actions map = region_actions(graph, Machine{}, work).nodes[1];
  EXPECT_EQ(map[operation(Arithmetic::mul, Width::w32)], 40);
  EXPECT_EQ(map[operation(Arithmetic::add, Width::w32)], 30);
  EXPECT_EQ(token_words(graph)[0], 4);
}

TEST(EnergyArea, OfAMachineItsUnitsAndScratchpad) {
  Machine machine = load_machine("rda");
  double um2 = static_cast<double>(machine.scratchpad.bytes) * machine.area.scratchpad_um2_per_byte;
  for (size_t u = 0; u < machine.units.size(); ++u) {
    um2 += static_cast<double>(machine.units[u].count) * machine.area.unit_um2[u];
  }
  EXPECT_DOUBLE_EQ(machine_area_mm2(machine, nullptr, nullptr), um2 / 1e6);
}

TEST(EnergyMachine, SectionsAreWhatAMachineHas) {
  EXPECT_FALSE(parse_machine("name = \"m\"\n", "m.toml").has_energy);
  const Machine machine = parse_machine("[energy]\ndram_burst_pj = 7\n", "m.toml");
  EXPECT_TRUE(machine.has_energy);
  EXPECT_FALSE(machine.has_area);
  EXPECT_EQ(machine.energy.dram_burst_pj, 7);
  EXPECT_THROW(parse_machine("[energy]\ndram_burst_pj = -1\n", "m.toml"), Error);
  EXPECT_THROW(parse_machine("[energy]\ndram_burst_pj = 1e300\n", "m.toml"), Error);
}

Trial simulated(size_t id, size_t first, size_t last, int64_t cycles, int64_t energy) {
  Trial trial;
  trial.point.id = id;
  trial.point.first = first;
  trial.point.last = last;
  trial.status = PointStatus::simulated;
  trial.result.cycles = cycles;
  trial.result.energy_pj = energy;
  return trial;
}

TEST(ExploreFront, ProgramsThatNoOtherBeats) {
  const std::vector<Trial> trials = {simulated(0, 0, 0, 10, 50), simulated(1, 0, 0, 20, 20),
                                     simulated(2, 0, 0, 21, 20), simulated(3, 1, 1, 5, 9),
                                     simulated(4, 0, 1, 24, 40)};
  const auto front = pareto_front(trials, 2, {2, 1, 0});
  ASSERT_EQ(front.size(), 3U);
  EXPECT_EQ(front[0].amounts.cycles, 17);
  EXPECT_EQ(front[0].amounts.energy_pj, 60);
  EXPECT_EQ(front[1].amounts.cycles, 24);
  EXPECT_EQ(front[1].parts.size(), 1U);
  EXPECT_EQ(front[2].amounts.cycles, 27);
  EXPECT_EQ(front[2].parts[0].point, 1U);
  EXPECT_EQ(least_edp(front)->amounts.cycles, 27);  // 810 < 960 < 1020
}

TEST(ExploreFront, NothingWithoutACompleteProgram) {
  EXPECT_TRUE(pareto_front({simulated(0, 0, 0, 1, 1)}, 2, {}).empty());
  EXPECT_EQ(least_edp({}), nullptr);
}

/// Roots of regions' products add up to no more than that of the program.
TEST(ExploreObjective, RootsBoundTheProduct) {
  const Amounts a{100, 3, 0}, b{2, 500, 0};
  Amounts both = a;
  both += b;
  EXPECT_LE(cost_of(Objective::edp, a) + cost_of(Objective::edp, b), cost_of(Objective::edp, both));
}

}  // namespace
}  // namespace fuseflow
