// What limits a region, and what its nodes wait for, from figures made by hand.
#include <gtest/gtest.h>

#include "verdict/limit.h"
#include "verdict/waits.h"
#include "verdict/words.h"

namespace fuseflow {
namespace {

/// root -> scan -> array -> map (of the array's values and the scan's) -> write_values; the array
/// reads %x, the writer stores %y. Streams: root, crd, ref, val, res.
Graph graph_of_load() {
  Graph graph;
  graph.indices.push_back({"i", 100});
  const auto stream = [&](const char* name, StreamKind kind, NodeId producer) {
    graph.streams.push_back({name, kind, {0}, producer, 0});
    return static_cast<StreamId>(graph.streams.size() - 1);
  };
  const auto node = [&](NodeKind kind, std::vector<StreamId> inputs, std::vector<StreamId> outputs,
                        TensorId tensor) {
    Node made;
    made.kind = kind;
    for (const StreamId s : inputs) made.inputs.push_back({s});
    made.outputs = std::move(outputs);
    made.tensor = tensor;
    graph.nodes.push_back(made);
  };
  const StreamId root = stream("root", StreamKind::ref, 0);
  const StreamId crd = stream("crd", StreamKind::crd, 1);
  const StreamId ref = stream("ref", StreamKind::ref, 1);
  const StreamId val = stream("val", StreamKind::val, 2);
  const StreamId res = stream("res", StreamKind::val, 3);
  node(NodeKind::root, {}, {root}, -1);
  node(NodeKind::scan, {root}, {crd, ref}, 0);
  node(NodeKind::array, {ref}, {val}, 0);
  node(NodeKind::map, {val, crd}, {res}, -1);
  node(NodeKind::write_values, {res}, {}, 1);
  return graph;
}

NodeFigures figures(double busy, double memory, double starved, double blocked) {
  return {true, busy, memory, starved, blocked, 0, 999};
}

/// 1000 cycles, in each of which every node is starved but the first, which is blocked.
RegionFigures waiting_figures() {
  RegionFigures region;
  region.cycles = 1000;
  region.nodes = {figures(2, 0, 998, 0), figures(100, 0, 0, 900), figures(100, 0, 900, 0),
                  figures(100, 0, 900, 0), figures(100, 0, 900, 0)};
  region.stream_blocked = {0, 0, 0, 0, 0};
  return region;
}

Machine memory_of_16_bytes_a_cycle() {
  Machine machine;
  machine.dram.model = "fixed";
  machine.dram.channels = 1;
  machine.dram.burst_bytes = 64;
  machine.dram.interval_cycles = 4;
  return machine;
}

TEST(Verdict, Compute) {
  RegionFigures region = waiting_figures();
  region.nodes[3] = figures(700, 0, 300, 0);
  const auto limit = find_limit(graph_of_load(), Machine(), region);
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->kind, LimitKind::compute);
  EXPECT_EQ(limit->node, 3);
  EXPECT_DOUBLE_EQ(limit->least_cycles, 700);
}

TEST(Verdict, Writer) {
  RegionFigures region = waiting_figures();
  region.nodes[4] = figures(700, 0, 300, 0);
  EXPECT_EQ(find_limit(graph_of_load(), Machine(), region)->kind, LimitKind::writer);
}

TEST(Verdict, BandwidthIsWhatChannelsCanMove) {
  const Machine machine = memory_of_16_bytes_a_cycle();
  RegionFigures region = waiting_figures();
  region.dram_bytes = 12000;
  const auto limit = find_limit(graph_of_load(), machine, region);
  EXPECT_EQ(limit->kind, LimitKind::bandwidth);
  EXPECT_DOUBLE_EQ(limit->share, 0.75);
  EXPECT_DOUBLE_EQ(limit->least_cycles, 750);
  EXPECT_EQ(limit->least_node, -1);
  region.dram_bytes = 9000;
  EXPECT_NE(find_limit(graph_of_load(), machine, region)->kind, LimitKind::bandwidth);
}

TEST(Verdict, LatencyNamesTheStreamBesideTheLoad) {
  const Graph graph = graph_of_load();
  RegionFigures region = waiting_figures();
  region.nodes[2] = figures(100, 800, 100, 0);
  region.stream_blocked[1] = 900;
  const auto limit = find_limit(graph, Machine(), region);
  EXPECT_EQ(limit->kind, LimitKind::latency);
  EXPECT_EQ(limit->node, 2);
  EXPECT_EQ(limit->stream, 1);
  const Waits waits(graph, region);
  for (const size_t node : {1, 3, 4}) {  // blocked by, or starved for, what the load gives
    const auto holder = waits.of(node);
    ASSERT_TRUE(holder) << node;
    EXPECT_EQ(holder->node, 2U) << node;
    EXPECT_TRUE(holder->memory) << node;
  }
  EXPECT_FALSE(waits.of(2));
}

TEST(Verdict, FifoWhereNobodyWorks) {
  const Graph graph = graph_of_load();
  RegionFigures region = waiting_figures();
  region.stream_blocked[1] = 900;
  const auto limit = find_limit(graph, Machine(), region);
  EXPECT_EQ(limit->kind, LimitKind::fifo);
  EXPECT_EQ(limit->stream, 1);
  EXPECT_EQ(limit->node, 1);
  const auto holder = Waits(graph, region).of(4);
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->stream, 1);
}

TEST(Verdict, OfFullStreamsThatOfTheInnerLoop) {
  RegionFigures region = waiting_figures();
  region.stream_blocked = {990, 800, 0, 0, 0};  // the root has few tokens to give
  EXPECT_EQ(holding_stream(graph_of_load(), region, 0, 1), 1);
  region.stream_blocked = {990, 400, 0, 0, 0};
  EXPECT_EQ(holding_stream(graph_of_load(), region, 0, 1), 0);
}

TEST(Verdict, SerialPhases) {
  Graph graph = graph_of_load();
  graph.nodes[3].phase = graph.nodes[4].phase = 1;
  RegionFigures region = waiting_figures();
  region.nodes[2] = figures(390, 0, 610, 0);
  for (size_t n = 0; n < 3; ++n) region.nodes[n].last_step = 399;
  region.nodes[3] = figures(500, 0, 500, 0);
  const auto limit = find_limit(graph, Machine(), region);
  EXPECT_EQ(limit->phase, 1);
  EXPECT_DOUBLE_EQ(limit->phase_share, 0.6);
  EXPECT_EQ(limit->kind, LimitKind::compute);  // 500 of the phase's 600
  EXPECT_DOUBLE_EQ(limit->least_cycles, 890);
}

TEST(Verdict, BurstsOfThePhaseThatMovesThem) {
  Graph graph = graph_of_load();
  graph.nodes[3].phase = graph.nodes[4].phase = 1;
  graph.scratchpad = {1};  // what the second phase writes
  RegionFigures region = waiting_figures();
  for (size_t n = 0; n < 3; ++n) region.nodes[n].last_step = 399;
  region.nodes[2].tensor_bytes = 1500;
  region.nodes[4].tensor_bytes = 4000;
  region.dram_bytes = 1500;
  region.dram_bursts = 96;  // 384 cycles
  const auto limit = find_limit(graph, memory_of_16_bytes_a_cycle(), region);
  EXPECT_EQ(limit->phase, 1);
  EXPECT_DOUBLE_EQ(limit->bytes_share, 0);
  EXPECT_DOUBLE_EQ(limit->least_cycles, 384 + 100);
}

TEST(Verdict, LoadingTakesLongest) {
  Graph graph = graph_of_load();
  graph.scratchpad = {0};
  RegionFigures region = waiting_figures();
  for (NodeFigures& node : region.nodes) node.first_step = 600;
  region.dram_bytes = 4800;
  const auto limit = find_limit(graph, memory_of_16_bytes_a_cycle(), region);
  EXPECT_EQ(limit->kind, LimitKind::loading);
  EXPECT_DOUBLE_EQ(limit->share, 0.6);
  EXPECT_DOUBLE_EQ(limit->bytes_share, 0.5);
  for (NodeFigures& node : region.nodes) node.first_step = 300;
  EXPECT_EQ(find_limit(graph, memory_of_16_bytes_a_cycle(), region)->kind, LimitKind::start);
}

TEST(Verdict, NothingOfAnEmptyGraph) {
  EXPECT_FALSE(find_limit(Graph(), Machine(), {}));
  EXPECT_EQ(find_limit(graph_of_load(), Machine(), waiting_figures())->kind, LimitKind::start);
}

}  // namespace
}  // namespace fuseflow
