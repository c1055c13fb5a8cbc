// What people look at: numbers, tables, pairs of regions, collapsed graphs, escaped texts.
#include <gtest/gtest.h>

#include "graph/collapse.h"
#include "ir/attribution.h"
#include "ir/parse.h"
#include "lower/lower.h"
#include "report/charts.h"
#include "report/critical_part.h"
#include "report/html.h"
#include "report/number_text.h"
#include "report/page.h"
#include "report/run_diff.h"
#include "report/run_table.h"
#include "report/short_names.h"
#include "report/text_table.h"

namespace fuseflow {
namespace {

Program program_of(const std::string& text) {
  return parse_program({"test.ff", text});
}

constexpr const char* kApart = R"(fuseflow 1
input %a: f32[8, 8] dense,dense facts(finite)
temp %"/layer1/h": f32[8, 8] dense,dense
temp %"/layer2/g": f32[8, 8] dense,dense
result %y: f32[8, 8] dense,dense
region @h { %"/layer1/h"[i, k] = sum(j) %a[i, j] * %a[j, k] }
region @g { %"/layer2/g"[i, k] = relu(%"/layer1/h"[i, k]) }
region @y { %y[i, k] = exp(%"/layer2/g"[i, k]) }
)";

constexpr const char* kFused = R"(fuseflow 1
input %a: f32[8, 8] dense,dense facts(finite)
temp %"/layer1/h": f32[8, 8] dense,dense
temp %"/layer2/g": f32[8, 8] dense,dense
result %y: f32[8, 8] dense,dense
region @both {
  parallel i = 4
  %"/layer1/h"[i, k] = sum(j) %a[i, j] * %a[j, k]
  %"/layer2/g"[i, k] = relu(%"/layer1/h"[i, k])
}
region @y { %y[i, k] = exp(%"/layer2/g"[i, k]) }
)";

TEST(Report, Numbers) {
  EXPECT_EQ(exact_number(41400000000.0), "41400000000");
  EXPECT_EQ(exact_number(0.5), "0.5");
  EXPECT_EQ(grouped_number(0), "0");
  EXPECT_EQ(grouped_number(999), "999");
  EXPECT_EQ(grouped_number(1000), "1,000");
  EXPECT_EQ(grouped_number(-1234567), "-1,234,567");
  EXPECT_EQ(grouped_number(1234.56), "1,234.6");
  EXPECT_EQ(percent_change(0), "0%");
  EXPECT_EQ(percent_change(-0.2), "-20.0%");
  EXPECT_EQ(percent_change(0.0004), "+0.04%");
  EXPECT_EQ(percent_change(1.219), "+121.9%");
}

TEST(Report, ChangeNeedsBothSides) {
  const Metric* cycles = find_metric("cycles");
  EXPECT_EQ((Change{cycles, 100, 150}.ratio()), 0.5);
  EXPECT_EQ((Change{cycles, 0, 0}.ratio()), 0.0);
  EXPECT_FALSE((Change{cycles, 0, 5}.ratio()).has_value());
  EXPECT_FALSE((Change{cycles, std::nullopt, 5}.ratio()).has_value());
}

TEST(Report, SpeedUpsAreOfTimes) {
  EXPECT_EQ(speed_up_text({4676, 4.676e-6}, {3515, 1.775e-6}), "2.63x");
  EXPECT_EQ(speed_up_text({4676, std::nullopt}, {3515, 1.775e-6}), "1.33x");
  EXPECT_EQ(speed_up_text({4676, 4.676e-6}, {0, 0}), "");
  EXPECT_TRUE(clocks_differ({4676, 4.676e-6}, {3515, 1.775e-6}));
  EXPECT_FALSE(clocks_differ({4676, 4.676e-6}, {3515, 3.515e-6}));
  EXPECT_FALSE(clocks_differ({4676, 4.676e-6}, {3515, std::nullopt}));
}

TEST(Report, TableIsAlignedByCharacters) {
  TextTable table({"name", "n"});
  table.add({"\u00e9", "10"});
  table.add({"long name", "7"});
  EXPECT_EQ(table.text(), "name        n\n\u00e9          10\nlong name   7\n");
}

TEST(Report, RegionsThatShareStatementsArePaired) {
  const std::vector<RegionPair> pairs = pair_by_statements(program_of(kApart), program_of(kFused));
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].a, (std::vector<std::string>{"h", "g"}));
  EXPECT_EQ(pairs[0].b, (std::vector<std::string>{"both"}));
  EXPECT_EQ(pairs[1].a, pairs[1].b);
}

TEST(Report, CopiesAreOneGroup) {
  const Program program = program_of(kFused);
  const Graph graph = lower_region(program, 0);
  const std::vector<NodeGroup> groups = collapse_copies(graph);
  size_t nodes = 0;
  size_t of_four = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    nodes += groups[g].nodes.size();
    of_four += groups[g].nodes.size() == 4 ? 1 : 0;
    for (const size_t input : groups[g].inputs) EXPECT_LT(input, g);
    for (const size_t node : groups[g].nodes) {
      EXPECT_EQ(graph.nodes[node].kind, graph.nodes[groups[g].nodes[0]].kind);
    }
  }
  EXPECT_EQ(nodes, graph.nodes.size());  // each node is in one group
  EXPECT_GT(of_four, 3U);
  EXPECT_LT(groups.size(), graph.nodes.size() / 2);
}

TEST(Report, NodesKnowTheirStatementAndLayer) {
  Program program = program_of(kFused);
  program.regions[0].graph = lower_region(program, 0);
  const Attribution attribution(program);
  std::set<std::string> layers;
  for (const Node& node : program.regions[0].graph->nodes) {
    const Statement* statement = attribution.statement(0, node);
    ASSERT_NE(statement, nullptr);
    layers.insert(attribution.layer(*statement));
  }
  EXPECT_EQ(layers, (std::set<std::string>{"layer1", "layer2"}));
}

TEST(Report, BusiestNodesOfEqualOnesTheFirst) {
  std::vector<NodeRow> nodes(40);
  for (size_t n = 0; n < nodes.size(); ++n) {
    nodes[n].number = static_cast<int64_t>(n);
    nodes[n].busy = n % 2 == 0 ? 7 : 3;
  }
  const std::vector<const NodeRow*> rows = busiest_nodes(nodes, 25);
  ASSERT_EQ(rows.size(), 25U);
  for (size_t r = 0; r < rows.size(); ++r) {
    const size_t wanted = r < 20 ? 2 * r : 2 * (r - 20) + 1;
    EXPECT_EQ(rows[r]->number, static_cast<int64_t>(wanted));
  }
  EXPECT_EQ(busiest_nodes(nodes, 100).size(), 40U);
}

TEST(Report, HtmlIsEscaped) {
  EXPECT_EQ(html_text("<b a=\"1\">&\n"), "&lt;b a=&quot;1&quot;&gt;&amp; ");
  EXPECT_EQ(html_text("\u00e9\xff\xc3"), "\u00e9??");
  EXPECT_EQ(html_table({"x"}, {{"<"}}).find("<td class=\"text\"><</td>"), std::string::npos);
}

TEST(Report, EmptyColumnsAreLeftOut) {
  const std::string table = html_table({"a", "b", "c"}, {{"1", "", "3"}, {"4", "", {"5", "five"}}});
  EXPECT_EQ(table.find(">b<"), std::string::npos);
  EXPECT_NE(table.find("<span title=\"five\">5</span>"), std::string::npos);
  EXPECT_EQ(html_table({"", ""}, {{"a", "b"}}).find("<thead>"), std::string::npos);
}

TEST(Report, NamesAreShortAndTellApart) {
  const std::string whole = "/gat1/lin/MatMul_output_0";
  const std::string twice = "/gat2/lin/MatMul_output_0", other = "/gat2/lin/Add_output_0";
  const ShortNames names({whole, twice, other, "y", "layers.0.lin.weight", "/Relu_output_0",
                          "encoder/layer.0", "encoder/layer.0_1", "blocks.0"});
  EXPECT_EQ(names.of(whole), "gat1.lin");
  EXPECT_EQ(names.of(twice), "gat2.lin.MatMul");
  EXPECT_EQ(names.of(other), "gat2.lin.Add");
  EXPECT_EQ(names.of("y"), "y");
  EXPECT_EQ(names.of("layers.0.lin.weight"), "layers.0.lin");
  EXPECT_EQ(names.of("/Relu_output_0"), "Relu");
  EXPECT_EQ(names.of("encoder/layer.0"), "layer.0");
  EXPECT_EQ(names.of("blocks.0"), "blocks.0");
  EXPECT_EQ(names.of("encoder/layer.0_1"), "layer.0_1");
  EXPECT_EQ(names.of("unknown/name"), "unknown/name");
}

TEST(Report, ThePartOfALargeGraphHangsTogether) {
  // A chain 0 - 1 - .. - 9 of groups of one node each; 6 is the busiest, then 2.
  std::vector<NodeGroup> groups(10);
  std::vector<NodeRow> rows(10);
  RowsByNode by_node;
  for (size_t g = 0; g < groups.size(); ++g) {
    groups[g].nodes = {g};
    if (g > 0) groups[g].inputs = {g - 1};
    rows[g].busy = g == 6 ? 100 : g == 2 ? 90 : static_cast<double>(g);
    by_node[g] = &rows[g];
  }
  EXPECT_EQ(critical_part(groups, by_node, 1), (std::set<size_t>{6}));
  EXPECT_EQ(critical_part(groups, by_node, 3), (std::set<size_t>{6, 7, 8}));
  EXPECT_EQ(critical_part(groups, by_node, 20).size(), 10U);
}

TEST(Report, TheTimeOfALayerIsThatOfItsRegions) {
  PageInput input;
  input.runs.push_back(parse_run_table({"a.csv",
                                        "schema,program,machine,region,cycles\n3,p,ideal,r,1000\n"
                                        "3,p,ideal,s,500\n3,p,ideal,total,1500\n"}));
  const auto node = [&](const char* region, int64_t number, const char* layer, double busy) {
    NodeRow row;
    row.region = region;
    row.number = number;
    row.layer = layer;
    row.statement = std::string(layer) + ".t";
    row.busy = busy;
    row.starved = (row.region == "r" ? 1000 : 500) - busy;
    input.nodes.push_back(row);
  };
  node("r", 0, "conv1", 10);  // alone in its region: all of its cycles
  node("r", 1, "conv1", 20);
  node("s", 0, "conv1", 30);  // two layers in one region: their busiest nodes
  node("s", 1, "conv2", 40);
  const std::string page = report_page(input);
  EXPECT_NE(page.find("conv1: 1,030 (68.7%) cycles"), std::string::npos);
  EXPECT_NE(page.find("conv2: 40 (2.7%) cycles"), std::string::npos);
}

TEST(Report, PageHasTheNumbersOfTheReport) {
  PageInput input;
  input.runs.push_back(
      parse_run_table({"a.csv",
                       "schema,program,machine,region,cycles,flops\n3,p,ideal,<r>,1234567,10\n"
                       "3,p,ideal,total,1234567,10\n"}));
  const std::string page = report_page(input);
  EXPECT_NE(page.find("1,234,567"), std::string::npos);
  EXPECT_NE(page.find("&lt;r&gt;"), std::string::npos);
  EXPECT_EQ(page.find("<r>"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page, report_page(input));
}

TEST(Report, PageNamesInputsWithTheirData) {
  const RunTable run = parse_run_table({"a.csv",
                                        "schema,program,machine,region,cycles\n"
                                        "3,,ideal,both,5\n3,,ideal,y,2\n3,,ideal,total,7\n"});
  PageInput input;
  input.runs.push_back(run);
  EXPECT_EQ(report_page(input).find("Inputs and constants"), std::string::npos);
  input.program = program_of(kFused);
  const std::string page = report_page(input);
  EXPECT_NE(page.find("Inputs and constants"), std::string::npos);
  for (const Tensor& tensor : input.program->tensors) {
    if (tensor.role != Role::input && tensor.role != Role::constant) continue;
    EXPECT_NE(page.find(html_text(to_string(tensor.source))), std::string::npos);
  }
}

TEST(Report, TablesOfOtherRunsAreRefused) {
  PageInput input;
  input.runs.push_back(parse_run_table(
      {"a.csv", "schema,program,machine,region,cycles\n3,p,ideal,r,5\n3,p,ideal,total,5\n"}));
  input.nodes.emplace_back();
  input.nodes[0].region = "other";
  EXPECT_THROW(report_page(input), Error);
}

}  // namespace
}  // namespace fuseflow
