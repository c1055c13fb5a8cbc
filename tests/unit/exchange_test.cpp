// Graphs of other simulators: their syntax, what they mean here, and that hostile ones are refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "exchange/comal_file.h"
#include "exchange/data.h"
#include "exchange/dot_text.h"
#include "exchange/read_graph.h"
#include "exchange/sam_dot.h"
#include "exchange/write_graph.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "nodes/rule.h"
#include "support/error.h"

namespace fuseflow {
namespace {

constexpr const char* kProgram = R"(fuseflow 1
input %a: f32[4, 5] dense,compressed = uniform(density=0.5,seed=1)
result %y: f32[4] dense
region @y {
  graph {
    index i: 4
    index k: 5
    phase {
      $root: ref<> = root
      $i: crd<i>, $ai: ref<i> = scan %a.0 ($root)
      $k: crd<i,k>, $ak: ref<i,k> = scan %a.1 ($ai)
      $c: val<i,k> = coordinate ($k)
      $av: val<i,k> = array %a ($ak)
      $p: val<i,k> = map mul ($av, $c)
      $q: val<i,k> = map mul ($p, 2)
      $s: val<i> = reduce sum ($i, $q)
      write_values %y ($i, $s)
    }
  }
}
)";

Program program_of(const std::string& text) {
  return parse_program({"test.ff", text});
}

std::string fault(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Dot, ReadsNodesEdgesAndComments) {
  const DotGraph graph = parse_dot(
      "strict digraph \"g\" { comment=\"x\"; node [shape=box] // one\n a [k=\"two\nlines\", l=3]; "
      "/* gone */ # gone\n a->b [type=val] }",
      "g.gv");
  EXPECT_EQ(graph.attributes.at("comment"), "x");
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[0].attributes.at("k"), "two\nlines");
  ASSERT_EQ(graph.edges.size(), 1U);
  EXPECT_EQ(graph.edges[0].to, "b");
}

TEST(Data, NamesOfFilesKeepWhatIsPlain) {
  EXPECT_EQ(file_name("azAZ09_.-"), "azAZ09_.-");
  EXPECT_EQ(file_name("/a b:[`@{"), "_a_b_____");
}

TEST(Dot, QuotesReadBack) {
  const std::string odd = "a \"b\" \\ c\\n";
  const DotGraph graph = parse_dot("digraph g { k=" + dot_quoted(odd) + " }", "g.gv");
  EXPECT_EQ(graph.attributes.at("k"), odd);
}

TEST(Dot, RefusesWhatItIsNot) {
  for (const char* text :
       {"digraph", "digraph {", "digraph { a [", "digraph { a [b] }", "digraph { a -> }",
        "digraph { a -> b -> c }", "digraph { \"a", "graph {}", "digraph { subgraph { } }",
        "digraph { } x", "digraph { /* }"}) {
    EXPECT_NE(fault([&] { parse_dot(text, "g.gv"); }), "") << text;
  }
}

/// What one type of stream goes into, no other comes out of.
TEST(Dot, BroadcastsKeepTheTypeOfAStream) {
  const auto told = [](const std::string& in, const std::string& out) {
    const std::string from = in == "val" ? "arrayvals" : "fiberlookup";
    return fault([&] {
      parse_sam_dot(fmt::format("digraph {{ 1 [type=\"{}\" tensor=\"B\" mode=\"0\" "
                                "format=\"dense\"] 2 [type=\"broadcast\"] 3 [type=\"{}\"] "
                                "1 -> 2 [type=\"{}\"] 2 -> 3 [type=\"{}\"] }}",
                                from, out == "val" ? "mul" : "repeat", in, out),
                    "g.gv");
    });
  };
  for (const std::string in : {"crd", "ref", "val"}) {
    for (const std::string out : {"crd", "ref", "val"}) {
      const bool refused = told(in, out).find("node 2 gives no " + out) != std::string::npos;
      EXPECT_EQ(refused, in != out) << in << " " << out << ": " << told(in, out);
    }
  }
}

TEST(Comal, TextAndBinaryAreTold) {
  const comal::ComalGraph graph = parse_comal("name: \"g\" channel_size: 4", "g.txtpb");
  EXPECT_EQ(parse_comal(comal_binary(graph), "g.bin").channel_size(), 4U);
  EXPECT_EQ(parse_comal(comal_text(graph), "g.txtpb").name(), "g");
  EXPECT_NE(fault([] { parse_comal(std::string_view("\x0a\xff", 2), "g.bin"); }), "");
  EXPECT_NE(fault([] { parse_comal("name: 3", "g.txtpb"); }), "");
}

TEST(Comal, TextInTextIsBounded) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "graph{";
  EXPECT_NE(fault([&] { parse_comal(deep, "g.txtpb"); }), "");
}

/// Nodes with their inputs, without names.
std::vector<std::string> shape_of(const Graph& graph) {
  std::vector<std::string> nodes;
  for (const Node& node : graph.nodes) {
    std::string text = node_kind_name(node.kind);
    for (const Input& input : node.inputs) {
      if (input.is_immediate()) {
        text += " #" + std::to_string(input.immediate);
        continue;
      }
      const Stream& stream = graph.streams[static_cast<size_t>(input.stream)];
      text += " " + std::to_string(stream.producer) + "." + std::to_string(stream.port);
    }
    nodes.push_back(std::move(text));
  }
  return nodes;
}

/// The program's first region, written and read again; its input is one that a graph wrote.
Graph there_and_back(const Program& program, Dialect dialect) {
  WrittenGraph written = write_graph(program, program.regions[0], dialect);
  comal::ComalGraph graph = dialect == Dialect::sam
                                ? parse_sam_dot(sam_dot(written.graph), "g.gv")
                                : parse_comal(comal_binary(written.graph), "g.bin");
  // A first graph that writes %a, so that no data are needed.
  const Program maker = program_of(R"(fuseflow 1
input %b: f32[4, 5] dense,compressed = uniform(density=0.5,seed=1)
result %a: f32[4, 5] dense,compressed
region @a {
  graph {
    index i: 4
    index k: 5
    phase {
      $root: ref<> = root
      $n: crd<i>, $nr: ref<i> = scan ($root)
      $m: crd<i,k>, $mr: ref<i,k> = scan ($nr)
      $v: val<i,k> = coordinate ($m)
      write_level %a.1 ($n, $m)
      write_values %a ($v)
    }
  }
}
)");
  const WrittenGraph first = write_graph(maker, maker.regions[0], Dialect::comal);
  return *read_graphs({{"a", first.graph}, {"g", graph}}, "").regions[1].graph;
}

TEST(RoundTrip, NodesAndInputsStay) {
  const Program program = program_of(kProgram);
  for (const Dialect dialect : {Dialect::comal, Dialect::sam}) {
    const Graph back = there_and_back(program, dialect);
    EXPECT_EQ(shape_of(back), shape_of(*program.regions[0].graph));
    EXPECT_EQ(back.indices.size(), 2U);
    EXPECT_EQ(back.indices[1].extent, 5);
  }
}

/// Found by fuzzing: a binary was written that nobody could read.
TEST(Write, RefusesNamesThatProtobufCannotHold) {
  Program program = program_of(kProgram);
  program.regions[0].graph->indices[0].name = "i\xdd";
  const WrittenGraph written = write_graph(program, program.regions[0], Dialect::comal);
  EXPECT_NE(fault([&] { comal_binary(written.graph); }).find("'i\\xdd'"), std::string::npos);
  EXPECT_NE(fault([&] { comal_text(written.graph); }).find("is not UTF-8"), std::string::npos);
  const WrittenGraph dot = write_graph(program, program.regions[0], Dialect::sam);
  EXPECT_FALSE(sam_dot(dot.graph).empty());
}

/// Found by fuzzing: a SAM graph without a node, which nobody reads.
TEST(Write, RefusesGraphsOfRootsAlone) {
  Program program = program_of(kProgram);
  program.regions[0].graph->nodes.resize(1);
  EXPECT_NE(fault([&] {
              write_graph(program, program.regions[0], Dialect::sam);
            }).find("nothing to write"),
            std::string::npos);
}

TEST(Write, SaysWhatOnlyWeRead) {
  const Program program = program_of(kProgram);
  const WrittenGraph written = write_graph(program, program.regions[0], Dialect::comal);
  EXPECT_EQ(written.extensions, (std::map<std::string, int>{{"coordinate", 1}}));
}

// SAM's `crddrop` of values drops zeros; to drop another number is ours alone.
TEST(Write, SamDropsZerosOnly) {
  for (const auto& [init, extensions] : {std::pair{"", 0}, std::pair{" init=1", 1}}) {
    const Program program = program_of(fmt::format(R"(fuseflow 1
input %a: f32[4] compressed = uniform(density=0.5,seed=1)
result %x: f32[4] compressed
region @x {{
  graph {{
    index i: 4
    phase {{
      $root: ref<> = root
      $i: crd<i>, $r: ref<i> = scan %a.0 ($root)
      $v: val<i> = array %a ($r)
      $k: crd<i>, $w: val<i> = filter ($v, $i, $v){}
      write_level %x.0 ($k)
      write_values %x ($w)
    }}
  }}
}}
)",
                                                   init));
    const WrittenGraph written = write_graph(program, program.regions[0], Dialect::sam);
    const auto found = written.extensions.find("filter");
    EXPECT_EQ(found == written.extensions.end() ? 0 : found->second, extensions) << init;
  }
}

TEST(Write, EachStreamHasOneConsumer) {
  const Program program = program_of(kProgram);
  const WrittenGraph written = write_graph(program, program.regions[0], Dialect::comal);
  const auto& operations = written.graph.graph().operators();
  const auto broadcasts = std::count_if(operations.begin(), operations.end(),
                                        [](const auto& op) { return op.has_broadcast(); });
  EXPECT_EQ(broadcasts, 0);  // $i goes to a writer only: reduce looks at it
}

TEST(Read, RefusesByOperation) {
  const auto refused = [](const std::string& text) {
    return fault([&] { read_graphs({{"g", parse_comal("graph { " + text + " }", "g")}}, ""); });
  };
  EXPECT_NE(refused("operators { id: 3 locate { } }").find("operation 3 (locate)"),
            std::string::npos);
  EXPECT_NE(refused("operators { id: 1 array { input_ref { id { id: 7 } } tensor: \"B\" } }")
                .find("takes stream 7, which nothing gives"),
            std::string::npos);
  EXPECT_NE(refused("operators { id: 1 root { output_ref { id { id: 1 } } } } "
                    "operators { id: 2 fiber_lookup { input_ref { id { id: 1 } } tensor: \"B\" } }")
                .find("expected --data DIR"),
            std::string::npos);
  EXPECT_NE(refused("operators { id: 1 repeat { in_ref { id { id: 1 } } rep_ref { id { id: 2 } } "
                    "out_ref { id { id: 1 } } } }"),
            "");
}

/// Extensions may say anything of a node.
TEST(Read, RefusesExtensionsThatAreNoNode) {
  const std::string root = "operators { id: 1 root { output_ref { id { id: 1 } } } } ";
  const std::string scan =
      "operators { id: 2 extension { kind: \"scan\" inputs { ref { id { id: 1 } } } "
      "outputs { crd { id { id: 2 } } loops: \"i\" } outputs { crd { id { id: 3 } } loops: \"i\" } "
      "} } ";
  const auto refused = [&](const std::string& text) {
    return fault([&] {
      read_graphs({{"g", parse_comal("graph { " + root + scan + text + " }", "g")}}, "");
    });
  };
  const std::string writes =
      "operators { id: 8 fiber_write { input_crd { id { id: 5 } } format: \"dense\" } } "
      "operators { id: 9 val_write { input_val { id { id: 6 } } } }";
  for (const char* node : {
           "kind: \"drop\" inputs { crd { id { id: 2 } } } outputs { crd { id { id: 4 } } loops: "
           "\"i\" } outputs { crd { id { id: 5 } } loops: \"i\" } outputs { val { id { id: 6 } } "
           "loops: \"i\" loops: \"j\" }",
           "kind: \"drop\" inputs { number: 1 } inputs { crd { id { id: 2 } } } groups: 1 groups: "
           "1 "
           "outputs { crd { id { id: 5 } } loops: \"i\" } outputs { val { id { id: 6 } } loops: "
           "\"i\" loops: \"j\" }",
           "kind: \"filter\" inputs { crd { id { id: 2 } } } outputs { crd { id { id: 5 } } } "
           "outputs { val { id { id: 6 } } loops: \"i\" loops: \"j\" loops: \"k\" }",
       }) {
    EXPECT_NE(refused("operators { id: 7 extension { " + std::string(node) + " } } " + writes), "")
        << node;
  }
}

}  // namespace
}  // namespace fuseflow
