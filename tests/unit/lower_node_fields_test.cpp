// Each field of a node, set in turn: whether nodes that differ in it are apart in fingerprints, in
// keys of equal nodes and among copies, and whether it is in the text. Goes through the one list of
// fields, so that a new one is tested without a line here.
#include <gtest/gtest.h>

#include <set>
#include <type_traits>
#include <vector>

#include "graph/collapse.h"
#include "graph/fingerprint.h"
#include "graph/node_fields.h"
#include "ir/graph_parser.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "lower/graph_builder.h"
#include "nodes/rule.h"

namespace fuseflow {
namespace {

/// Another value than the default one, which is allowed.
template <typename T>
void change(T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = !value;
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(static_cast<int>(value) + 1);
  } else if constexpr (std::is_floating_point_v<T>) {
    value += 0.5F;
  } else if constexpr (std::is_integral_v<T>) {
    value += 1;
  } else if constexpr (requires { value.emplace_back(); }) {
    value.emplace_back();
  } else {
    value[0] = 1;
  }
}
void change(std::vector<Input>& inputs) {
  inputs.push_back({0, 0});
}

template <typename Row>
Node changed(Node node, const Row& row) {
  change(value_of(node, row.member));
  return node;
}

/// What gives a stream, and the nodes.
Graph graph_of(const std::vector<Node>& nodes) {
  Graph graph;
  graph.indices = {{"i", 4}};
  graph.streams = {{"s", StreamKind::ref, {0}, 0, 0}};
  graph.nodes.emplace_back().outputs = {0};
  graph.nodes.insert(graph.nodes.end(), nodes.begin(), nodes.end());
  return graph;
}

TEST(NodeFields, EachIsListedOnce) {
  const Node node;
  std::set<const void*> places;
  std::set<std::string_view> names;
  for_each_field([&](const auto& row) {
    EXPECT_TRUE(places.insert(&value_of(node, row.member)).second) << row.rule.name;
    EXPECT_TRUE(names.insert(row.rule.name).second) << row.rule.name;
    EXPECT_TRUE(is_default(node, row)) << row.rule.name;
    EXPECT_FALSE(is_default(changed(node, row), row)) << row.rule.name;
  });
}

TEST(NodeFields, FingerprintsTellThemApart) {
  for_each_field([](const auto& row) {
    EXPECT_EQ(fingerprint(graph_of({Node()})) != fingerprint(graph_of({changed(Node(), row)})),
              row.rule.differ != Differ::in_nothing)
        << row.rule.name;
  });
}

TEST(NodeFields, CopiesShareThem) {
  for_each_field([](const auto& row) {
    const size_t groups = collapse_copies(graph_of({Node(), changed(Node(), row)})).size();
    EXPECT_EQ(groups, row.rule.differ == Differ::in_work ? 2U : 1U) << row.rule.name;
  });
}

TEST(NodeFields, NodesAreSharedOnlyIfAllAreEqual) {
  for_each_field([](const auto& row) {
    const Node other = changed(Node(), row);
    if (!other.outputs.empty()) return;  // a node that is asked for has none
    GraphBuilder builder(10);
    builder.add_index(4);
    const std::vector<int> indices{0};
    const OutputSpec output{StreamKind::ref, indices};
    const StreamId first = builder.add_one(Node(), output);
    EXPECT_EQ(builder.add_one(Node(), output), first);
    builder.set_phase(other.phase);
    EXPECT_EQ(builder.add_one(Node(other), output) != first, row.rule.differ != Differ::in_nothing)
        << row.rule.name;
  });
}

/// The node, with what every kind has to print.
Graph printable_graph(NodeKind kind) {
  Node node;
  node.kind = kind;
  node.tensor = node.other_tensor = 0;
  node.level = node.other_level = 0;
  node.order = node_rule(kind).fields->order ? 1 : 0;
  Graph graph;
  graph.indices = {{"i", 4}};
  graph.nodes = {node};
  return graph;
}

Node read_again(Program program, const Graph& graph) {
  program.regions[0].graph = graph;
  const std::string text = print_program(program);
  const SourceText source{"<test>", text.substr(text.find("graph {"))};
  std::vector<Diagnostic> errors;
  ir::Cursor cursor(source, errors);
  std::vector<GraphTensor> tensors;
  // (The verifier finds that it is no whole graph.)
  Graph read = ir::parse_graph(cursor, program, ir::TensorNames{{"y", 0}}, tensors);
  EXPECT_EQ(read.nodes.size(), 1U) << text;
  return read.nodes.empty() ? Node() : read.nodes[0];
}

TEST(NodeFields, AttributesAreReadAsTheyArePrinted) {
  const Program program = parse_program(
      {"<test>", "fuseflow 1\nresult %y: f32[4] dense\nregion @y {\n  %y[i:4] = 1\n}\n"});
  for_each_field([&](const auto& row) {
    using Row = std::remove_cvref_t<decltype(row)>;
    if constexpr (Row::is_attribute) {
      int kinds = 0;
      for (int k = 0; k < static_cast<int>(NodeKind::count_); ++k) {
        const auto kind = static_cast<NodeKind>(k);
        if (!row.used_by(node_rule(kind).fields)) continue;
        ++kinds;
        Graph graph = printable_graph(kind);
        change(value_of(graph.nodes[0], row.member));
        const Node read = read_again(program, graph);
        EXPECT_EQ(value_of(read, row.member), value_of(graph.nodes[0], row.member))
            << row.rule.name << " of " << node_kind_name(kind);
      }
      EXPECT_GT(kinds, 0) << "no kind has " << row.rule.name;
    }
  });
}

}  // namespace
}  // namespace fuseflow
