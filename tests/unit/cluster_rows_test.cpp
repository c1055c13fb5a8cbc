// Kernels of rows: what statements are one, the worked case of ir-spec/tile_cases.md, what is held,
// what crosses links, the verifier. Values over random programs: tests/property/rows_property.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "chip/needs.h"
#include "cluster/common/attach_plan.h"
#include "cluster/rows/rows.h"
#include "cluster_program.h"
#include "graph/tile_rows.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "machine/load.h"
#include "sim/tiles/rows.h"
#include "sim/tiles/rows_counts.h"

namespace fuseflow::cluster {
namespace {

std::optional<RowsForm> rows_form_of(const Program& program, std::string& why) {
  std::vector<const Statement*> statements;
  for (const Region& region : program.regions) {
    for (const Statement& s : region.statements) statements.push_back(&s);
  }
  return rows_form(StatementTable(program), statements, why);
}

RowsForm rows_form_of(const std::string& text) {
  const Program program = parse(text);
  std::string why;
  const auto form = rows_form_of(program, why);
  EXPECT_TRUE(form) << why;
  return form.value_or(RowsForm{});
}

std::string why_no_rows(const std::string& text) {
  const Program program = parse(text);
  std::string why;
  EXPECT_FALSE(rows_form_of(program, why)) << text;
  return why;
}

/// y = relu(x W1) W2 with so many rows, inputs, hidden columns.
std::string mlp(int rows, int inputs, int hidden) {
  const auto shape = [](int a, int b) {
    return "f32[" + std::to_string(a) + ", " + std::to_string(b) + "] dense,dense";
  };
  const std::string of = " = uniform(density=1,seed=1)\n";
  return "input %x: " + shape(rows, inputs) + of + "const %w: " + shape(hidden, inputs) + of +
         "const %v: " + shape(16, hidden) + of + "temp %c: " + shape(rows, hidden) +
         "\ntemp %h: " + shape(rows, hidden) + "\nresult %y: " + shape(rows, 16) +
         "\nregion @y {\n  %c[i, j] = sum(k) %x[i, k] * %w[j, k]\n  %h[i, j] = relu(%c[i, j])\n"
         "  %y[i, o] = sum(j) %h[i, j] * %v[o, j]\n}\n";
}

const RowsTiles kTiles{16, 16, 1, 1, 2, false, 2};

TEST(RowsForm, ProductsAndReductionsOfRows) {
  const RowsForm form = rows_form_of(mlp(20, 24, 32));
  EXPECT_EQ(form.products, 2);
  EXPECT_EQ(form.rows(), 20);
  EXPECT_EQ(form.widths.size(), 3U);
  EXPECT_EQ(form.results.size(), 1U);
}

TEST(RowsForm, WhatOthersReadIsAResult) {
  EXPECT_EQ(rows_form_of(with(mlp(20, 24, 32), "temp %h", "result %h")).results.size(), 2U);
}

TEST(RowsForm, SaysWhatHasNone) {
  const std::string good = mlp(16, 16, 16);
  const auto says = [](const std::string& text, const std::string& what) {
    const std::string why = why_no_rows(text);
    EXPECT_NE(why.find(what), std::string::npos) << why << "\n" << text;
  };
  says(with(good, "relu(%c[i, j])", "relu(%c[j, i])"), "it has no rows");
  says(with(good, "relu(%c[i, j])", "relu(%c[i, j]) + coordinate(j)"), "index as a number");
  says(with(good, "%h[i, j] * %v[o, j]", "%h[i, j] * %h[o, j]"), "both operands of a product");
  says(with(good, "%x: f32[16, 16] dense,dense", "%x: f32[16, 16] dense,compressed"),
       "%x is not dense");
  says(with(good, "sum(j) %h[i, j] * %v[o, j]", "sum(j:8) %h[i, j] * %v[o, j]"), "a part of %h");
}

TEST(Rows, WorkedCase) {
  const Graph one = rows_graph(rows_form_of(mlp(16, 16, 16)), kTiles);
  const Measured measured = time_tiles(one, slow_lanes_machine(1));
  EXPECT_EQ(measured.cycles, 344);
  EXPECT_EQ(measured.bytes.global_read, 3 * 1024);
  EXPECT_EQ(measured.bytes.global_write, 1024);
  EXPECT_EQ(measured.flops, 2 * 8192);
  const Graph two = rows_graph(rows_form_of(mlp(32, 16, 16)), kTiles);
  EXPECT_EQ(time_tiles(two, slow_lanes_machine(1)).cycles, 408);
}

TEST(Rows, CoresThatShareColumnsSendThem) {
  RowsTiles tiles = kTiles;
  tiles.wide = 2;
  const Graph graph = rows_graph(rows_form_of(mlp(16, 16, 32)), tiles);
  const Measured measured = time_tiles(graph, slow_lanes_machine(2));
  EXPECT_EQ(measured.bytes.link, 2 * 16 * 16 * 4);  // each its tile of h to the other
  // The result has one tile of 8 columns a core: none is computed twice.
  EXPECT_EQ(measured.flops, 2 * (16 * 16 * 32 + 16 * 32 * 16));
}

TEST(Rows, SharedLoadsComeOnce) {
  RowsTiles tiles = kTiles;
  tiles.tall = 2;
  const Graph graph = rows_graph(rows_form_of(mlp(32, 16, 16)), tiles);
  const Measured measured = time_tiles(graph, load_machine("h100", {}));
  EXPECT_EQ(measured.bytes.l2_read, 2 * 1024 + 2 * 1024);  // two tiles of x, both weights once
  Machine apart = load_machine("h100", {"links.multicast=false"});
  EXPECT_EQ(time_tiles(graph, apart).bytes.l2_read, 2 * 1024 + 4 * 1024);
}

TEST(Rows, PlacesAreUsedAgain) {
  // c, h1, h2, h3: two of them are there at a time.
  std::string text = "input %x: f32[16, 16] dense,dense = uniform(density=1,seed=1)\n";
  std::string statements, before = "x";
  for (int layer = 1; layer <= 4; ++layer) {
    const std::string n = std::to_string(layer);
    text += "const %w" + n + ": f32[16, 16] dense,dense = uniform(density=1,seed=2)\n";
    text += (layer == 4 ? "result %h" : "temp %h") + n + ": f32[16, 16] dense,dense\n";
    statements += fmt::format("  %h{0}[i, j] = sum(k) %{1}[i, k] * %w{0}[k, j]\n", n, before);
    before = "h" + n;
  }
  const Graph graph = rows_graph(rows_form_of(text + "region @y {\n" + statements + "}\n"), kTiles);
  const RowsShape shape = rows_shape(graph);
  EXPECT_EQ(shape.places.size(), 2U);
  EXPECT_EQ(shape.loops.size(), 4U);
  // x, four weights of one tile each, two places, the tile that is stored.
  EXPECT_EQ(rows_need(graph).scratchpad, 1024 * (1 + 4 + 2 + 1));
}

/// 40 inputs are two tiles of 32 (of 20, rounded to products of the chip), which stay; 96 hidden
/// columns three of 32, which lie in the scratchpad from one product to the next.
TEST(Rows, WhatACoreNeedsOfTheChip) {
  RowsTiles tiles{16, 32, 1, 1, 2, false, 2};
  tiles.unit = chip::kUnit;
  const auto needs = chip::needs_of(rows_graph(rows_form_of(mlp(20, 40, 96)), tiles));
  ASSERT_TRUE(needs);
  std::vector<std::array<int64_t, 3>> rings;
  for (const chip::Ring& ring : needs->rings)
    rings.push_back({ring.copies, ring.bytes, ring.least});
  const std::vector<std::array<int64_t, 3>> expected{{2, 2048, 2}, {2, 4096, 1}, {2, 2048, 1}};
  EXPECT_EQ(rings, expected);
  EXPECT_EQ(needs->rooms, std::vector<int64_t>{3 * 2048});
  ASSERT_EQ(needs->sums.size(), 2U);  // never alive together
  EXPECT_EQ(needs->sums[0][0].columns, 32);
  EXPECT_EQ(needs->sums[1][0].columns, 16);
  EXPECT_EQ(chip::scratchpad_of(*needs), 4096 + 8192 + 4096 + 6144 + 16 + 12 * 8);
}

TEST(Rows, WeightsTakeTurnsInOneBuffer) {
  const Graph graph = rows_graph(rows_form_of(mlp(16, 64, 64)), kTiles);
  const RowsShape shape = rows_shape(graph);
  EXPECT_EQ(shape.buffers.size(), 2U);  // of x, and of both weights
  RowsTiles kept = kTiles;
  kept.keep = true;
  EXPECT_EQ(rows_shape(rows_graph(rows_form_of(mlp(16, 64, 64)), kept)).buffers.size(), 3U);
}

/// The program of the form with one line of its graph changed.
std::string refused(const std::string& what, const std::string& instead, const RowsTiles& tiles) {
  Program program = parse(mlp(16, 32, 32));
  const Statement& last = program.regions[0].statements.back();
  std::vector<TensorId> members;
  for (const Statement& s : program.regions[0].statements) members.push_back(s.result);
  EXPECT_EQ(last.result, members.back());
  std::string why;
  attach_plan(program, members, {}, rows_graph(*rows_form_of(program, why), tiles));
  try {
    parse_program({"changed", with(print_program(program), what, instead)});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Rows, RefusesWhatIsNoKernelOfRows) {
  const auto says = [](const std::string& what, const std::string& instead, const char* message,
                       int wide = 1) {
    RowsTiles tiles = kTiles;
    tiles.wide = wide;
    const std::string error = refused(what, instead, tiles);
    EXPECT_NE(error.find(message), std::string::npos) << error;
  };
  says("index g: 1 block=1 size=1", "index g: 1 block=2 size=1", "tiles of one element");
  says("tile_store %y[i, o]", "tile_store %y[i, i]", "plain digits");
  says("= tile_multiply ($x, $x_1) capacity=2", "= tile_multiply ($x, $x_1) capacity=99",
       "1 to 16 accumulators");
  says("index b: 2 block=16 size=32 cluster=2", "index b: 2 block=16 size=32 cluster=1",
       "spread over several", 2);
  says("map relu ($c)", "map relu ($x_1)", "lack a dimension");
}

TEST(Rows, PlannedWhereItIsFaster) {
  std::string text = mlp(2048, 64, 64);
  text = with(text, "region @y {\n", "region @c {\n");
  text = with(text, "\n  %h[i, j]", "\n}\nregion @h {\n  %h[i, j]");
  text = with(text, "\n  %y[i, o]", "\n}\nregion @y {\n  %y[i, o]");
  Program program = parse(text);
  const Machine machine = load_machine("h100", {});
  const std::vector<RowsOutcome> outcomes = plan_rows(program, machine);
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_EQ(outcomes[0].kind, RowsOutcome::Kind::taken);
  EXPECT_LT(outcomes[0].fused.cycles, outcomes[0].apart.total.cycles);
  ASSERT_EQ(program.regions.size(), 1U);
  EXPECT_EQ(time_tiles(*program.regions[0].graph, machine).cycles, outcomes[0].fused.cycles);
}

}  // namespace
}  // namespace fuseflow::cluster
