// Products with k in parts: of the cores of a cluster, which sum what they give, and of clusters
// that add to the result in memory. A case on paper, values against the reference over random
// programs, counts, choices, hostile text.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "cluster/kernels/kernels.h"
#include "cluster/kernels/present_tiles.h"
#include "cluster/kernels/tiles.h"
#include "cluster_program.h"
#include "machine/load.h"
#include "sim/common/program_result.h"
#include "sim/tiles/conservation.h"
#include "sim/tiles/kernel_counts.h"
#include "sim/tiles/timing.h"

namespace fuseflow::cluster {
namespace {

/// y = what is said of the product of a and b, by batch g.
struct Product {
  int rows = 32, columns = 24, depth = 64, batch = 1, part = 100;
  std::string text_of_y = "sum(k) %a[g, i, k] * %b[g, k, j]";

  std::string text() const {
    const std::string values = sparse_values(batch * rows * depth, part, rows);
    return batched_product(rows, columns, depth, batch, "values(" + values + ")", text_of_y);
  }
};

/// The last region with the graph of its form.
Program with_graph(Program program, const KernelForm& form, const KernelSizes& block,
                   const DepthParts& parts, int64_t gathered = 0) {
  program.regions.back().graph = kernel_graph(form, block, 2, gathered, parts);
  return program;
}

Graph graph_of(const Product& product, const KernelSizes& block, const DepthParts& parts) {
  return kernel_graph(kernel_form_of(parse(product.text())), block, 2, 0, parts);
}

/// 16 x 16, k in two tiles of 16. Each core loads a tile of A and one of B: the channel has A0
/// until 16, A1 32, B0 48 (asked when the port was free, at 16), B1 64. The second core multiplies
/// from 164 to 172, and 32 later, at 204, sends 8 rows, 512 bytes: link 8, 10: 222. (The first one
/// sent 16 before.) A sum of 128 elements takes a cycle, and the stores the channel for 8 each:
/// 223, 231, 239; 100.
TEST(SplitProduct, OnPaper) {
  const Product product{16, 16, 32};
  const Graph graph = graph_of(product, {16, 16, 16, 1}, {2});
  EXPECT_EQ(depth_cores(graph), 2);
  EXPECT_EQ(kernel_cluster(graph), 2);
  EXPECT_EQ(kernel_walk_of(graph, 0, 0, 1), (std::vector<TileRange>{{1, 2}}));
  const Measured measured = time_tiles(graph, paper_machine(2));
  EXPECT_EQ(measured.cycles, 339);
  EXPECT_EQ(measured.nodes, 2 * (2 + 1 + 2 + 1));  // loads, the product, send and sum, the store
  EXPECT_EQ(measured.bytes.global_read, 4 * 1024);
  EXPECT_EQ(measured.bytes.global_write, 1024);
  EXPECT_EQ(measured.bytes.link, 2 * 512);
  // The whole tile, the share; two copies of A and B, the share of the other core and the own one.
  EXPECT_EQ(kernel_need(graph).registers, (16 * 16 + 8 * 16) * 4);
  EXPECT_EQ(kernel_need(graph).scratchpad, 2 * 2 * 1024 + 2 * 512);
  // One core has all four tiles until 164 and stores from 204.
  const Graph alone = graph_of(product, {16, 16, 16, 1}, {});
  EXPECT_EQ(time_tiles(alone, paper_machine(1)).cycles, 320);
}

/// Parts differ by one tile at most, whatever the ranges.
TEST(SplitProduct, PartsOfAWalk) {
  Graph graph = graph_of({16, 16, 16 * 11}, {16, 16, 16, 1}, {4});
  const auto of = [&](int core) { return kernel_walk_of(graph, 0, 0, core); };
  EXPECT_EQ(of(0), (std::vector<TileRange>{{0, 2}}));
  EXPECT_EQ(of(3), (std::vector<TileRange>{{8, 11}}));
  graph.tiles->open = {{{1, 3}, {4, 5}, {7, 10}}};
  EXPECT_EQ(of(0), (std::vector<TileRange>{{1, 2}}));
  EXPECT_EQ(of(1), (std::vector<TileRange>{{2, 3}, {4, 5}}));
  EXPECT_EQ(of(3), (std::vector<TileRange>{{8, 10}}));
  graph.tiles->open = {{{5, 6}}};
  EXPECT_TRUE(of(0).empty());
  EXPECT_EQ(of(3), (std::vector<TileRange>{{5, 6}}));
}

const std::vector<std::string> kOfProduct{
    "sum(k) %a[g, i, k] * %b[g, k, j]", "relu((sum(k) %a[g, i, k] * %b[g, k, j]) * %s[i] + %v[j])",
    "gelu(sum(k) %b[g, k, j] * %a[g, i, k]) + %r[g, i, j]",
    "(sum(k) %a[g, i, k] * %b[g, k, j]) * sqrt(%v[j] + 2) - %r[g, i, j] * %r[g, i, j]"};

/// Sizes, tiles, batches and what follows the product at random; loads shared or not.
TEST(SplitProduct, RandomProductsAgainstTheReference) {
  for (int seed = 1; seed <= 60; ++seed) {
    Draw draw(seed);
    const auto among = [&](int least, int most) { return draw.among(least, most); };
    const int cores = 2 << among(0, 3);
    const Machine machine = load_machine(
        "h100", {"core.count=" + std::to_string(cores * among(1, 3)),
                 among(0, 1) == 0 ? "links.multicast=true" : "links.multicast=false",
                 among(0, 1) == 0 ? "l2.capacity_bytes=0" : "l2.capacity_bytes=1000000"});
    const int k = among(1, 9);
    Product product{among(1, 50), among(1, 50), k * cores + among(0, 40), among(1, 3)};
    product.text_of_y = kOfProduct[static_cast<size_t>(among(0, 3))];
    const Program given = parse(product.text());
    KernelSizes block{cores * among(1, 2), among(1, 40), k, 1};
    if (among(0, 3) == 0) block = {among(1, cores - 1), cores * among(1, 3), k, 1};  // of columns
    const Program program = with_graph(given, kernel_form_of(given), block, {cores});
    const Measured measured = expect_sound(program, machine);
    EXPECT_GE(measured.bytes.link,
              int64_t{cores - 1} * product.batch * product.rows * product.columns * 4);
  }
}

const std::vector<std::string> kSums{
    "sum(k) %a[g, i, k] * %b[g, k, j]", "%v[j] + (sum(k) %a[g, i, k] * %b[g, k, j])",
    "(sum(k) %a[g, i, k] * %b[g, k, j]) + %r[g, i, j] * %s[i] + sqrt(%v[j] + 2) + 1"};

/// Several clusters add to a tile in memory; the first one adds what follows, too.
TEST(AddedProduct, RandomProductsAgainstTheReference) {
  for (int seed = 1; seed <= 60; ++seed) {
    Draw draw(seed);
    const auto among = [&](int least, int most) { return draw.among(least, most); };
    const DepthParts parts{1 << among(0, 2), 2 << among(0, 2)};
    const bool l2 = among(0, 1) == 1;
    const Machine machine =
        load_machine("h100", {"core.count=" + std::to_string(parts.cores * among(1, 9)),
                              among(0, 1) == 0 ? "links.multicast=true" : "links.multicast=false",
                              l2 ? "l2.capacity_bytes=1000000" : "l2.capacity_bytes=0"});
    const int k = among(1, 9), all = static_cast<int>(parts.all());
    Product product{among(1, 50), among(1, 50), k * all + among(0, 40), among(1, 3)};
    product.text_of_y = kSums[static_cast<size_t>(among(0, 2))];
    const Program given = parse(product.text());
    const KernelForm form = kernel_form_of(given);
    EXPECT_TRUE(sums_follow(form));
    const KernelSizes block{parts.cores * among(1, 2), among(1, 40), k, 1};
    const Program program = with_graph(given, form, block, parts);
    expect_right_and_read_again(program, machine);
    const Graph& graph = *program.regions.back().graph;
    const Measured measured = time_tiles(graph, machine);
    const int64_t stored = compulsory_bytes(graph).stored;
    // Sums, zeros in their place and the result, all in f32; an L2 keeps the sums meanwhile.
    EXPECT_EQ(measured.bytes.global_write, l2 ? 2 * stored : stored * (parts.clusters + 2));
    EXPECT_GE(measured.bytes.global_read, compulsory_bytes(graph).loaded);
  }
}

/// The case above with a cluster for each of the two tiles of k. They begin to add 32 after the
/// products, at 188 and 204, and take the channel for 16 to read the sums and 16 to write them: 320
/// and, since the channel is free at 220, 352. Who has added is told 100 later: the second one, the
/// last, at 452. It reads the sums (16, 100: 568), clears them (the port until 584) and stores the
/// result: 584, 16, 100.
TEST(AddedProduct, OnPaper) {
  const Product product{16, 16, 32};
  const Graph graph = graph_of(product, {16, 16, 16, 1}, {1, 2});
  const Measured measured = time_tiles(graph, paper_machine(2));
  EXPECT_EQ(measured.cycles, 700);
  EXPECT_EQ(measured.nodes, 2 * (2 + 1 + 2));  // loads, the product, the store, what settles
  EXPECT_EQ(measured.bytes.global_read, 4 * 1024 + 2 * 1024 + 1024);
  EXPECT_EQ(measured.bytes.global_write, 2 * 1024 + 2 * 1024);
}

/// Each element is added to by all clusters but the first, whose loads alone take what follows.
TEST(AddedProduct, Counts) {
  Product product{32, 24, 64};
  product.text_of_y = "(sum(k) %a[g, i, k] * %b[g, k, j]) + %r[g, i, j]";
  const Program given = parse(product.text());
  const KernelForm form = kernel_form_of(given);
  const auto run_of = [&](const DepthParts& parts) {
    const Program program = with_graph(given, form, {16, 24, 16, 1}, parts);
    return run_program(program, load_tensors(program), load_machine("h100"), {}).regions.at(0);
  };
  const RunResult one = run_of({}), four = run_of({1, 4});
  EXPECT_EQ(four.flops, one.flops + 3 * 32 * 24);
  const int64_t sums = 32 * 24 * 4;  // from memory; then the last to add of each tile reads them
  EXPECT_EQ(one.l2_write_bytes, sums);
  EXPECT_EQ(four.dram_read_bytes, one.dram_read_bytes + sums);
  EXPECT_EQ(four.l2_read_bytes, one.l2_read_bytes + sums);
  EXPECT_EQ(four.l2_write_bytes, 4 * sums + 2 * sums);  // ... and stores zeros and the result
  EXPECT_EQ(four.link_bytes, 0);
}

TEST(AddedProduct, WhatFollowsIsSums) {
  const auto follows = [](const std::string& text_of_y) {
    Product product;
    product.text_of_y = text_of_y;
    return sums_follow(kernel_form_of(parse(product.text())));
  };
  EXPECT_FALSE(follows("relu(sum(k) %a[g, i, k] * %b[g, k, j])"));
  EXPECT_FALSE(follows("(sum(k) %a[g, i, k] * %b[g, k, j]) * %v[j] + 1"));
  Program twice = parse(
      "input %a: f32[16, 64] dense,dense = dense(seed=1)\n"
      "input %b: f32[64, 16] dense,dense = dense(seed=2)\n"
      "temp %c: f32[16, 16] dense,dense\nresult %y: f32[16, 16] dense,dense\n"
      "region @y { %c[i, j] = sum(k) %a[i, k] * %b[k, j]\n%y[i, j] = %c[i, j] + %c[i, j] }\n");
  std::string why;
  const auto& statements = twice.regions[0].statements;
  const auto form =
      kernel_form(twice, statements[1], {{statements[0].result, &statements[0]}}, why);
  ASSERT_TRUE(form) << why;
  EXPECT_FALSE(sums_follow(*form));
}

TEST(AddedProduct, RefusesHostileText) {
  Product product{40, 24, 64};
  product.text_of_y = "(sum(k) %a[g, i, k] * %b[g, k, j]) + %v[j]";
  const Program given = parse(product.text());
  const std::string text =
      print_program(with_graph(given, kernel_form_of(given), {16, 24, 16, 1}, {1, 2}));
  const std::string two = ") capacity=2\n    }";
  ASSERT_NE(text.find(two), std::string::npos) << text;
  expect_refused(text, two, ") capacity=1\n    }", "expected 2 to 64");
  expect_refused(text, two, ") capacity=65\n    }", "expected 2 to 64");
  expect_refused(text, two, ") capacity=5\n    }", "4 tiles of k in 5 parts");
  expect_refused(text, "map add ($c", "map mul ($c", "expected sums alone after the product");
  expect_refused(text, "map add ($c, $x_2)", "map add ($c, $c)",
                 "expected sums alone after the product");
  expect_refused(text, "tile_store %y[0, i, j] ($v)", "tile_store %y[0, i, j] ($x_2)",
                 "does not store the product that clusters add");
}

/// FLOPs and tiles are those of one core, but for the sums and the parts of the product.
TEST(SplitProduct, Counts) {
  Product product{32, 24, 64};
  product.text_of_y = "relu((sum(k) %a[g, i, k] * %b[g, k, j]) + %v[j])";
  const Program given = parse(product.text());
  const KernelForm form = kernel_form_of(given);
  const auto run_of = [&](int parts) {
    const Program program = with_graph(given, form, {16, 24, 16, 1}, {parts});
    return run_program(program, load_tensors(program), load_machine("h100"), {}).regions.at(0);
  };
  const RunResult one = run_of(1), four = run_of(4);
  EXPECT_EQ(four.flops, one.flops + 3 * 32 * 24);
  EXPECT_EQ(four.dram_write_bytes, one.dram_write_bytes);
  EXPECT_EQ(one.link_bytes, 0);
  EXPECT_EQ(four.link_bytes, 3 * 32 * 24 * 4);
  const Graph graph = graph_of(product, {16, 24, 16, 1}, {4});
  const KernelRoles roles = kernel_roles(graph);
  ASSERT_GE(roles.scatter, 0);
  const StreamId part = graph.nodes[static_cast<size_t>(roles.scatter)].inputs[0].stream;
  const StreamId sum = graph.nodes[static_cast<size_t>(roles.scatter)].outputs[0];
  EXPECT_EQ(four.streams[static_cast<size_t>(part)].tokens, 2 * 4);
  EXPECT_EQ(four.streams[static_cast<size_t>(sum)].tokens, 2);
}

/// Few rows leave cores idle where k is not split; the search takes a split there and no worse one
/// anywhere.
TEST(SplitProduct, IsChosenWhereItIsFaster) {
  for (const char* name : {"h100", "rda"}) {
    const Machine machine = load_machine(name);
    const Machine apart = load_machine(name, {"links.most_cores.2=1", "links.most_cores.4=1",
                                              "links.most_cores.8=1", "links.most_cores.16=1"});
    for (const int rows : {16, 512}) {
      Product product{rows, 128, 1024};
      product.text_of_y = "relu((sum(k) %a[g, i, k] * %b[g, k, j]) + %v[j])";
      const Program program = parse(product.text());
      const KernelForm form = kernel_form_of(program);
      const auto with = fastest_kernel(form, machine), without = fastest_kernel(form, apart);
      ASSERT_TRUE(with && without);
      EXPECT_LE(with->measured.cycles, without->measured.cycles) << name << ", " << rows;
      if (rows > 16) continue;
      EXPECT_GT(depth_cores(with->graph), 1) << name;
      EXPECT_LT(with->measured.cycles, without->measured.cycles) << name;
    }
  }
}

/// A bias and an activation of statements of their own follow the sum.
TEST(SplitProduct, WhatFollowsIsFolded) {
  Program program = parse(
      "input %a: f16[16, 2048] dense,dense = dense(seed=1)\n"
      "const %b: f16[2048, 64] dense,dense = dense(seed=2)\n"
      "const %v: f16[64] dense = dense(seed=3)\n"
      "temp %c: f16[16, 64] dense,dense\nresult %y: f16[16, 64] dense,dense\n"
      "region @y { %c[i, j] = (sum(k) %a[i, k] * %b[k, j]) + %v[j]\n%y[i, j] = silu(%c[i, j]) }\n");
  const Machine machine = load_machine("h100");
  EXPECT_TRUE(make_kernels(program, machine, {.fold_products = true}).empty());
  ASSERT_EQ(program.regions.size(), 1U);
  const Graph& graph = *program.regions[0].graph;
  EXPECT_GT(depth_cores(graph), 1);
  const KernelRoles roles = kernel_roles(graph);
  EXPECT_EQ(roles.scatter, roles.last.front());
  EXPECT_GE(roles.last.size(), 3U);
  expect_right_and_read_again(program, machine);
}

TEST(SplitProduct, RefusesHostileText) {
  Product product{40, 24, 64};
  product.text_of_y = "relu((sum(k) %a[g, i, k] * %b[g, k, j]) + %v[j])";
  const Program given = parse(product.text());
  const std::string text =
      print_program(with_graph(given, kernel_form_of(given), {16, 24, 16, 1}, {2}));
  const std::string k = "k: 4 block=16 size=64 cluster=2", m = "m: 3 block=16 size=40 cluster=1";
  ASSERT_NE(text.find("reduce_scatter ($c)"), std::string::npos) << text;
  expect_refused(text, k, "k: 4 block=16 size=64 cluster=1",
                 "sums over a cluster, expected index n or k with cluster=2");
  expect_refused(text, k, "k: 4 block=16 size=64 cluster=3", "a power of two");
  expect_refused(text, k, "k: 4 block=16 size=64 cluster=8", "4 tiles on 8 cores");
  expect_refused(text, m, "m: 3 block=16 size=40 cluster=2", "expected cluster=1 and a block");
  product.columns = 23;
  const Program narrow = parse(product.text());
  expect_refused(print_program(with_graph(narrow, kernel_form_of(narrow), {16, 23, 16, 1}, {2})), m,
                 "m: 3 block=15 size=40 cluster=1", "that the 2 cores of index k share evenly");
  expect_refused(text, "n: 1 block=24 size=24 cluster=1", "n: 2 block=12 size=24 cluster=2",
                 "index n is spread over a cluster");
  expect_refused(text, "map add ($c_sum", "map add ($c", "of which each core has a part");
  expect_refused(text, "reduce_scatter ($c)", "reduce_scatter ($x)",
                 "expected the tiles (m, n) of a product over k");
  std::string unsummed =
      print_program(with_graph(given, kernel_form_of(given), {16, 24, 16, 1}, {}));
  expect_refused(unsummed, "k: 4 block=16 size=64 cluster=1", k,
                 "expected a product over k by itself, or several reductions that walk k");
  // Rows that are reduced are not spread.
  Program sums = parse(
      "input %a: f32[16, 64] dense,dense = dense(seed=1)\nresult %y: f32[16] dense\n"
      "region @y { %y[i] = sum(k) %a[i, k] }\n");
  sums.regions[0].graph = kernel_graph(kernel_form_of(sums), {16, 1, 16, 1}, 2);
  expect_refused(print_program(sums), "k: 4 block=16 size=64 cluster=1", k,
                 "expected a product over k by itself");
}

}  // namespace
}  // namespace fuseflow::cluster
