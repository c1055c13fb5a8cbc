// A dense product after one that leaves tiles out, as one kernel: a worked case, values against
// the reference over random programs, what has no form, when it is taken, hostile text.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "cluster/kernels/kernels.h"
#include "cluster/kernels/present_tiles.h"
#include "cluster/kernels/product_cost.h"
#include "cluster/kernels/second_product.h"
#include "cluster/kernels/second_product_form.h"
#include "cluster_program.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "machine/load.h"
#include "sim/common/program_result.h"
#include "sim/program_run.h"
#include "sim/report/check.h"
#include "sim/tiles/conservation.h"
#include "sim/tiles/kernel_counts.h"
#include "sim/tiles/timing.h"
#include "support/ceil_div.h"

namespace fuseflow::cluster {
namespace {

/// z = after((between(a x) w)): a of single values at random places, `part` of 100 are there.
struct Layer {
  int rows = 40, inner = 70, columns = 24, width = 10, part = 5, seed = 1;
  std::string between = "sigmoid(%c[i, j] + %b[j])", product = "%h[i, j] * %w[j, l]",
              after = "relu(%d[i, l] * %s[i] + %v[l])";

  std::string text() const {
    const std::string values = sparse_values(rows * inner, part, seed);
    return fmt::format(
        "const %a: f32[{0}, {1}] dense,dense@1,0 = values({4})\n"
        "input %x: f32[{1}, {2}] dense,dense = uniform(density=1,seed=2)\n"
        "input %b: f32[{2}] dense = uniform(density=1,seed=3)\n"
        "const %w: f32[{2}, {3}] dense,dense = uniform(density=1,seed=4)\n"
        "input %v: f32[{3}] dense = uniform(density=1,seed=5)\n"
        "input %s: f32[{0}] dense = uniform(density=1,seed=6)\n"
        "input %t: f32[{0}] dense = uniform(density=1,seed=7)\n"
        "input %r: f32[{0}, {3}] dense,dense = uniform(density=1,seed=8)\n"
        "temp %c: f32[{0}, {2}] dense,dense\ntemp %h: f32[{0}, {2}] dense,dense\n"
        "temp %d: f32[{0}, {3}] dense,dense\nresult %y: f32[{0}, {3}] dense,dense\n"
        "region @c {{ %c[i, j] = sum(k) %a[i, k] * %x[k, j] }}\n"
        "region @h {{ %h[i, j] = {5} }}\nregion @d {{ %d[i, l] = sum(j) {6} }}\n"
        "region @y {{ %y[i, l] = {7} }}\n",
        rows, inner, columns, width, values, between, product, after);
  }
};

std::set<TensorId> temporaries_and_result(const Program& program) {
  std::set<TensorId> members;
  for (const Region& region : program.regions) {
    for (const Statement& s : region.statements) members.insert(s.result);
  }
  return members;
}

std::optional<KernelForm> second_form_of(const Program& program, std::string& why) {
  const StatementTable statements(program);
  const Statement& root = program.regions.back().statements.back();
  std::optional<KernelForm> form =
      second_product_form(statements, root, temporaries_and_result(program), why);
  if (!form) return form;
  const Statement& product = program.regions.front().statements.front();
  const auto alone = kernel_form(program, product, {}, why);
  const auto sparse = alone ? PresenceFinder(program).sparse_form(*alone) : std::nullopt;
  if (!sparse) return std::nullopt;
  form->present = sparse->present;
  return form;
}

/// All statements in one region with the graph.
Program fused(const Program& given, const KernelForm& form, const KernelSizes& block,
              int64_t packed) {
  Program program = given;
  Region all;
  all.name = "y";
  for (const Region& region : given.regions) {
    all.statements.insert(all.statements.end(), region.statements.begin(), region.statements.end());
  }
  all.graph = kernel_graph(form, block, 2, packed);
  program.regions = {all};
  return program;
}

/// A tile of the first product has 24 columns; what is stored are those of the second.
TEST(SecondProduct, CostsGrowWithTheColumnsThatAreStored) {
  const Machine machine = one_channel_machine(1, {});
  const auto cost = [&](int width) {
    Layer layer{16, 8, 24, 16};
    layer.width = width;
    std::string why;
    const auto form = second_form_of(parse(layer.text()), why);
    EXPECT_TRUE(form) << why;
    return ProductCost(*form, machine).cycles({{16, 24, 1, 1}, 2, {}}, {4});
  };
  const std::vector<double> costs{cost(1), cost(2), cost(8), cost(64)};
  for (size_t i = 1; i < costs.size(); ++i) EXPECT_LT(costs[i - 1], costs[i]) << i;
}

/// The worked case of "Gathered rows" with a product of 24 by 16 after it: columns 1, 4 and 5 of A,
/// two a step.
Graph worked_pair(int cores = 1) {
  Layer layer{16, 8, 24, 16};
  layer.between = "%c[i, j]";
  layer.after = "%d[i, l]";
  const Program program = parse(layer.text());
  std::string why;
  const StatementTable statements(program);
  auto form = second_product_form(statements, program.regions.back().statements.back(),
                                  temporaries_and_result(program), why);
  EXPECT_TRUE(form) << why;
  form->present = std::make_shared<const PresentElements>(
      1, 16, 8, std::vector<size_t>{0, 0, 0, 0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3},
      std::vector<PresentElements::Stretch>{{1, 2}, {4, 5}, {5, 6}});
  return kernel_graph(*form, {16, 24 / cores, 1, 1}, 2, 2);
}

/// Port and memory pass 64 bytes a cycle, memory's latency is 100; scratchpad 128 bytes a cycle,
/// latency 10. Step 0 loads A (port until 2), X (6) and W (30; there at 30 + 100 + 12 + 10 = 152),
/// step 1 A (31) and X (33): their bytes wait for those of W until 142, so that X is there at 142 +
/// 0.5 + 0.75 + 10 = 153.25. The second step of the first product reads 320 bytes: 155.75. 32
/// later, at 187.75, the second one reads the 1,536 of W (12; its 12,288 FLOPs take 6): 199.75,
/// complete at 231.75. The store of 1,024 bytes: 8 in, 8 + 10 out, port 16, 100: 373.75.
TEST(SecondProduct, WorkedCase) {
  const Graph graph = worked_pair();
  EXPECT_EQ(graph.indices.size(), 5U);
  EXPECT_TRUE(has_second_product(graph));
  const KernelRoles roles = kernel_roles(graph);
  EXPECT_EQ(roles.reductions.size(), 1U);
  EXPECT_EQ(roles.last.size(), 1U);
  const Machine machine = one_channel_machine(1, {"core.scratchpad_latency_cycles=10"});
  const Measured measured = time_tiles(graph, machine);
  EXPECT_EQ(measured.nodes, 5 + 2 + 1 + 1);  // loads, steps, the second product, the store
  EXPECT_EQ(measured.cycles, 374);
  EXPECT_EQ(measured.matrix_busy_cycles, 17);  // 2.5 + 2.5 + 12
  EXPECT_EQ(measured.flops, 2 * (2 * 16 * 24 * 2) + 2 * 16 * 24 * 16);
  EXPECT_EQ(measured.bytes.global_read, 3 * (64 + 128) + 24 * 16 * 4);
  EXPECT_EQ(measured.bytes.global_write, 16 * 16 * 4);
  EXPECT_EQ(compulsory_bytes(graph).loaded, 3 * (64 + 96) + 24 * 16 * 4);
  EXPECT_EQ(compulsory_bytes(graph).stored, 16 * 16 * 4);
  EXPECT_EQ(kernel_need(graph).registers, (16 * 24 + 16 * 16) * 4);
  EXPECT_EQ(kernel_need(graph).scratchpad, 2 * 2 * (16 + 24) * 4 + 24 * 16 * 4 + 16 * 16 * 4);
}

/// The same on two cores that have 12 columns each; memory passes any number of bytes at once,
/// links 64 bytes a cycle, latency 20. Each loads A (port until 2), X (4; rows of 48 bytes are
/// bursts of 64) and its 12 rows of W (16), then A (17) and X (18) of step 1. The first step of the
/// first product reads 224 bytes from 114.75 to 116.5, so that W is written until 122.5 and X of
/// step 1 at 123.375: there at 133.375. The second step: 135.125. 32 later the second product reads
/// 768 bytes of W: 173.125. 32 later each core sends 8 rows of it, 512 bytes: link 8, 20,
/// scratchpad 8 + 10: 251.125. The sum reads them in 4 (its 128 sums take 2): 255.125. The store of
/// 8 rows: 4 in, 4 + 10 out, port 8, 100: 381.125.
TEST(SecondProduct, WorkedCaseOnTwoCores) {
  const Graph graph = worked_pair(2);
  EXPECT_EQ(column_cores(graph), 2);
  EXPECT_EQ(kernel_cluster(graph), 2);
  const KernelRoles roles = kernel_roles(graph);
  EXPECT_EQ(roles.last.size(), 2U);
  EXPECT_EQ(roles.scatter, roles.last[1]);
  for (const char* multicast : {"links.multicast=true", "links.multicast=false"}) {
    const Machine machine = one_channel_machine(
        2, {multicast, "dram.bandwidth_gigabytes_per_second=1000000",
            "core.scratchpad_latency_cycles=10", "core.vector_operations_per_cycle=64",
            "links.bandwidth_gigabytes_per_second.2=128", "links.latency_cycles.2=20",
            "links.barrier_cycles.2=0", "links.most_cores.2=2"});
    const Measured measured = time_tiles(graph, machine);
    EXPECT_EQ(measured.cycles, 382) << multicast;
    EXPECT_EQ(measured.nodes, 2 * (5 + 2 + 1 + 2 + 1));  // also the send and the sum
    EXPECT_EQ(measured.flops, 2 * (2 * 16 * 24 * 2) + 2 * 16 * 24 * 16);
    EXPECT_EQ(measured.bytes.global_read, 2 * 3 * (64 + 64) + 24 * 16 * 4);
    EXPECT_EQ(measured.bytes.global_write, 16 * 16 * 4);
    EXPECT_EQ(measured.bytes.link, 2 * 8 * 16 * 4);
  }
  EXPECT_EQ(compulsory_bytes(graph).loaded, 3 * (64 + 96) + 24 * 16 * 4);
  EXPECT_EQ(compulsory_bytes(graph).stored, 16 * 16 * 4);
  // The tiles of both products, the share; two copies of A and X, W, the share of the other core
  // and the own one that is stored.
  EXPECT_EQ(kernel_need(graph).registers, (16 * 12 + 16 * 16 + 8 * 16) * 4);
  EXPECT_EQ(kernel_need(graph).scratchpad,
            2 * 2 * (16 + 12) * 4 + 12 * 16 * 4 + 8 * 16 * 4 + 8 * 16 * 4);
}

/// Counts of a run: FLOPs and tiles are those of one core, but for the sums.
TEST(SecondProduct, CountsOfACluster) {
  Layer layer{32, 40, 24, 16};
  layer.after = "relu(%d[i, l] + %v[l])";
  const Program given = parse(layer.text());
  std::string why;
  const auto form = second_form_of(given, why);
  ASSERT_TRUE(form) << why;
  const auto counts = [&](int cores) {
    const Program program = fused(given, *form, {16, 24 / cores, 1, 1}, 4);
    return run_program(program, load_tensors(program), load_machine("h100"), {});
  };
  const ProgramRun one = counts(1), four = counts(4);
  const RunResult &a = one.regions.at(0), &b = four.regions.at(0);
  EXPECT_EQ(b.flops, a.flops + 3 * 32 * 16);  // each element is the sum of four
  EXPECT_EQ(b.dram_write_bytes, a.dram_write_bytes);
  EXPECT_EQ(a.link_bytes, 0);
  EXPECT_EQ(b.link_bytes, 3 * 32 * 16 * 4);
  const Graph graph = worked_pair(4);
  const auto is_last = [](const Node& node) { return node.kind == NodeKind::reduce_scatter; };
  const auto scatter = std::find_if(graph.nodes.begin(), graph.nodes.end(), is_last);
  ASSERT_NE(scatter, graph.nodes.end());
  EXPECT_EQ(core_elements(graph, scatter->outputs[0]), 4 * 16);
  EXPECT_EQ(tile_elements(graph, scatter->outputs[0]), 16 * 16);
}

/// What random layers are made of: maps between the products, and whether loads are shared.
const std::vector<std::string> kBetween{"sigmoid(%c[i, j] + %b[j])", "%c[i, j]", "%c[i, j] * %s[i]",
                                        "%c[i, j] * tanh(%c[i, j])"};
const std::vector<std::string> kMulticast{"links.multicast=true", "links.multicast=false"};

/// Any size, part and packing, tiles and gathered rows; columns that are padding are not summed
/// (sigmoid(0) is not 0).
TEST(SecondProduct, RandomLayersAgainstTheReference) {
  const std::vector<std::string> product{"%h[i, j] * %w[j, l]", "%w[j, l] * %h[i, j]"};
  const std::vector<std::string> after{"relu(%d[i, l] * %s[i] + %v[l])", "%d[i, l]",
                                       "exp(%d[i, l] * 0.01) - %v[l]"};
  int checked = 0, empty_rows = 0;
  for (int seed = 1; seed <= 40; ++seed) {
    Draw draw(seed);
    const auto among = [&](int least, int most) { return draw.among(least, most); };
    const Machine machine = load_machine("h100", {"core.count=" + std::to_string(among(1, 4)),
                                                  kMulticast[static_cast<size_t>(among(0, 1))]});
    Layer layer{among(17, 70), among(17, 70), among(1, 40), among(1, 30), among(0, 3) * 2, seed};
    layer.between = kBetween[static_cast<size_t>(among(0, 3))];
    layer.product = product[static_cast<size_t>(among(0, 1))];
    layer.after = after[static_cast<size_t>(among(0, 2))];
    const Program given = parse(layer.text());
    std::string why;
    const auto form = second_form_of(given, why);
    EXPECT_TRUE(why.empty()) << why << layer.text();
    if (!form) continue;
    const int64_t m = among(1, 40), n = layer.columns + among(0, 3);
    const bool gathers = among(0, 1) == 1;
    const int64_t k = gathers ? 1 : among(1, 9), packed = gathers ? among(1, 40) : 0;
    const Program program = fused(given, *form, {m, n, k, 1}, packed);
    const Graph& graph = *program.regions.back().graph;
    if (graph.tiles->open.empty()) continue;
    ++checked;
    for (const auto& list : graph.tiles->open) empty_rows += list.empty() ? 1 : 0;
    expect_sound(program, machine);
  }
  EXPECT_GT(checked, 25);  // of 40
  EXPECT_GT(empty_rows, 5);
}

/// Random layers whose columns the cores of a cluster share, against the reference.
TEST(SecondProduct, RandomLayersOnClustersAgainstTheReference) {
  const std::vector<std::string> after{
      "relu(%d[i, l] + %v[l])", "%d[i, l]", "exp(%d[i, l] * 0.01) - %v[l]",
      "%d[i, l] * %t[i] + %r[i, l]", "relu(%d[i, l] + %r[i, l] * %r[i, l])"};
  int checked = 0;
  for (int seed = 1; seed <= 60; ++seed) {
    Draw draw(seed);
    const auto among = [&](int least, int most) { return draw.among(least, most); };
    const int cores = 2 << among(0, 3);
    const Machine machine =
        load_machine("h100", {"core.count=" + std::to_string(cores * among(1, 3)),
                              kMulticast[static_cast<size_t>(among(0, 1))]});
    Layer layer{among(17, 70), among(17, 70), among(16, 60), among(1, 30), among(0, 3) * 2, seed};
    layer.between = kBetween[static_cast<size_t>(among(0, 3))];
    layer.after = after[static_cast<size_t>(among(0, 4))];
    const Program given = parse(layer.text());
    std::string why;
    const auto form = second_form_of(given, why);
    if (!form) continue;
    const int64_t n = ceil_div<int64_t>(layer.columns, cores);
    if (ceil_div<int64_t>(layer.columns, n) != cores) continue;  // a core would have none
    const int64_t m = cores * among(1, 3);
    const bool gathers = among(0, 1) == 1;
    const int64_t k = gathers ? 1 : among(1, 9), packed = gathers ? among(1, 40) : 0;
    const Program program = fused(given, *form, {m, n, k, 1}, packed);
    const Graph& graph = *program.regions.back().graph;
    if (graph.tiles->open.empty()) continue;
    ++checked;
    const Measured measured = expect_sound(program, machine);
    EXPECT_GE(measured.bytes.link, int64_t{cores - 1} * layer.rows * layer.width * 4);
  }
  EXPECT_GT(checked, 25);  // of 60
}

TEST(SecondProduct, WhatHasNoForm) {
  const auto why = [](const Layer& layer) {
    std::string says;
    const Program program = parse(layer.text());
    const StatementTable statements(program);
    EXPECT_FALSE(second_product_form(statements, program.regions.back().statements.back(),
                                     temporaries_and_result(program), says));
    return says;
  };
  Layer layer;
  layer.between = "%c[i, j] + (sum(q) %a[i, q] * %x[q, j])";
  EXPECT_EQ(why(layer), "it has other reductions than two products, or reads one of them twice");
  layer = {};
  layer.product = "(%h[i, j] + %w[j, l])";
  EXPECT_EQ(why(layer), "one of its sums is no product of two");
  layer = {};
  layer.product = "(%h[i, j] + %v[l]) * %w[j, l]";
  EXPECT_EQ(why(layer), "what its second product takes has other loops than the first product's");
  layer = {};
  layer.product = "%x[i, j] * %w[j, l]";
  layer.inner = layer.rows;
  EXPECT_EQ(why(layer), "");
}

/// What the second product sums its tensor must have, else a map between would see too large a sum.
TEST(SecondProduct, ALoopThatTheSecondTensorLacks) {
  const Program program = parse(
      "const %a: f32[40, 70, 3] dense,dense,dense = uniform(density=0.03,seed=7)\n"
      "input %x: f32[70, 3, 24] dense,dense,dense = uniform(density=1,seed=1)\n"
      "const %w: f32[24, 10] dense,dense = uniform(density=1,seed=2)\n"
      "temp %c: f32[40, 24, 3] dense,dense,dense\nresult %y: f32[40, 10] dense,dense\n"
      "region @c { %c[i, j, q] = sum(k) %a[i, k, q] * %x[k, q, j] }\n"
      "region @y { %y[i, l] = sum(j, q) relu(%c[i, j, q] - 1) * %w[j, l] }\n");
  std::string why;
  const StatementTable statements(program);
  EXPECT_FALSE(second_product_form(statements, program.regions.back().statements.back(),
                                   temporaries_and_result(program), why));
  EXPECT_EQ(why, "its second product sums a loop that its tensor lacks");
}

/// In A A W either A may be the one that leaves tiles out: the rows have to be those of the kernel.
TEST(SecondProducts, BothOperandsAreOneTensor) {
  const Machine machine = load_machine("h100", {});
  int taken = 0;
  for (const char* second : {"%a[k, j]", "%a[j, k]"}) {
    for (const bool in_columns : {true, false}) {
      // Values in the first columns alone, or in the first rows: A is not symmetric.
      std::string values;
      for (int i = 0; i < 64 * 64; ++i) {
        const bool there = (in_columns ? i % 64 : i / 64) < 3;
        values += (i == 0 ? "" : ", ") + std::string(there ? "2" : "0");
      }
      Program program =
          parse("const %a: f32[64, 64] dense,dense@1,0 = values(" + values +
                ")\nconst %w: f32[64, 16] dense,dense = dense(seed=9)\n"
                "temp %c: f32[64, 64] dense,dense\nresult %y: f32[64, 16] dense,dense\n"
                "region @c { %c[i, j] = sum(k) %a[i, k] * " +
                std::string(second) + " }\nregion @y { %y[i, l] = sum(j) %c[i, j] * %w[j, l] }\n");
      make_kernels(program, machine, {.reorder_operands = true});
      for (const KernelOutcome& o : plan_second_products(program, machine)) {
        taken += o.taken() ? 1 : 0;
      }
      expect_right(program, machine);
    }
  }
  EXPECT_GT(taken, 0);
}

/// A layer of a GCN: taken where it is faster, and then no slower than what the program had.
TEST(SecondProducts, AreTakenWhereTheyAreFaster) {
  const std::string text =
      "const %a: f32[1024, 1024] dense,compressed = power_law(edges=3000,values=uniform(0,1),"
      "seed=7)\ninput %x: f32[1024, 64] dense,dense = dense(seed=8)\n"
      "const %w: f32[64, 16] dense,dense = dense(seed=9)\n"
      "temp %c: f32[1024, 64] dense,dense\n{} %d: f32[1024, 16] dense,dense\n"
      "result %y: f32[1024, 16] dense,dense\nregion @c {{ %c[i, j] = sum(k) %a[i, k] * %x[k, j] "
      "}}\n"
      "region @d {{ %d[i, l] = sum(j) %c[i, j] * %w[j, l] }}\n"
      "region @y {{ %y[i, l] = relu(%d[i, l]) }}\n";
  const auto made = [&](const char* role, const Machine& machine) {
    Program program = parse(fmt::format(fmt::runtime(text), role));
    make_kernels(program, machine, {.store_operands_dense = true, .reorder_operands = true});
    return program;
  };
  const auto cycles = [](const Program& program, const Machine& machine) {
    const ProgramRun run = run_program(program, load_tensors(program), machine, {});
    return total_counts(run, machine).cycles;
  };
  const Machine machine = load_machine("h100", {});
  Program program = made("temp", machine);
  const int64_t before = cycles(program, machine);
  std::vector<KernelOutcome> outcomes = plan_second_products(program, machine);
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_TRUE(outcomes[0].taken());
  EXPECT_EQ(program.regions.size(), 1U);
  EXPECT_EQ(outcomes[0].apart.kernels, 3);
  EXPECT_LE(outcomes[0].apart.total.cycles, before);  // an L2 holds what those before left
  EXPECT_EQ(outcomes[0].fused.cycles, cycles(program, machine));
  EXPECT_LT(outcomes[0].fused.cycles, before);
  expect_right(program, machine);

  // A result between the two is stored: the kernel ends there.
  program = made("result", machine);
  outcomes = plan_second_products(program, machine);
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_EQ(program.regions.size(), 2U);
  expect_right(program, machine);

  // What is not faster is left as it is: a core has little room for registers, launches are free.
  const Machine small = load_machine(
      "h100", {"reconfiguration_cycles=0", "core.count=1024", "core.matrix_flops_per_cycle=8"});
  program = made("temp", small);
  const std::string printed = print_program(program);
  for (const KernelOutcome& o : plan_second_products(program, small)) {
    EXPECT_EQ(o.taken(), o.fused.cycles < o.apart.total.cycles);
  }
  expect_right(program, small);
}

TEST(SecondProduct, RefusesHostileTextOfClusters) {
  Layer layer;
  layer.after = "relu(%d[i, l] + %v[l])";
  layer.width = 9;  // not shared by columns
  const Program given = parse(layer.text());
  std::string why;
  const auto form = second_form_of(given, why);
  ASSERT_TRUE(form) << why;
  const std::string text = print_program(fused(given, *form, {16, 12, 1, 1}, 8));
  ASSERT_NE(text.find("reduce_scatter ($d)"), std::string::npos) << text;
  expect_refused(text, "n: 2 block=12 size=24 cluster=2", "n: 1 block=24 size=24 cluster=1",
                 "sums over a cluster, expected index n or k with cluster=2");
  expect_refused(text, "n: 2 block=12 size=24 cluster=2", "n: 2 block=12 size=24 cluster=1",
                 "not 2 tiles on 1 cores");
  expect_refused(text, "n: 2 block=12 size=24 cluster=2", "n: 2 block=12 size=24 cluster=4",
                 "not 2 tiles on 4 cores");
  expect_refused(text, "m: 3 block=16 size=40 cluster=1", "m: 3 block=16 size=40 cluster=2",
                 "expected cluster=1 and a block");
  expect_refused(text, "m: 3 block=16 size=40 cluster=1", "m: 3 block=15 size=40 cluster=1",
                 "that the 2 cores of index n share evenly");
  expect_refused(text, "l: 1 block=9 size=9 cluster=1", "l: 1 block=9 size=9 cluster=2",
                 "tiles of rows, of columns or of k");
  expect_refused(text, "reduce_scatter ($d)", "reduce_scatter ($c)",
                 "the tiles (m, l) of one after the steps");
  // What follows takes the part of one core, or all rows of a load that it has a share of.
  expect_refused(text, "map add ($d_sum", "map add ($d", "of which each core has a part");
  layer.between = "%c[i, j] * %s[i]";
  layer.after = "%d[i, l] * %t[i]";
  const Program factors = parse(layer.text());
  const auto of_factors = second_form_of(factors, why);
  ASSERT_TRUE(of_factors) << why;
  const std::string with_factors = print_program(fused(factors, *of_factors, {16, 12, 1, 1}, 8));
  expect_refused(with_factors, "map mul ($d_sum, $x_4)", "map mul ($d_sum, $x_2)",
                 "takes all rows of $x_2");
  // A product that gives nothing, before what is looked at by its role.
  expect_refused(text, "$x_2: val<n>[n] = tile_load",
                 "tile_multiply ($x, $x_1)\n      $x_2: val<n>[n] = tile_load",
                 "has no branch, capacity or held bytes in a kernel");
}

/// What has no rows every core computes for itself.
TEST(SecondProduct, MapsOfColumnsAreWholeOnEveryCore) {
  Layer layer{32, 40, 24, 16};
  layer.between = "%c[i, j]";
  layer.after = "%d[i, l] * sqrt(%v[l] + 2)";
  const Program given = parse(layer.text());
  std::string why;
  const auto form = second_form_of(given, why);
  ASSERT_TRUE(form) << why;
  const Machine machine = load_machine("h100");
  const auto flops = [&](int cores) {
    const Program program = fused(given, *form, {16, 24 / cores, 1, 1}, 4);
    expect_right(program, machine);
    return run_program(program, load_tensors(program), machine, {}).regions.at(0).flops;
  };
  // Sums of four parts; of two tiles of rows the root and the sum of 16 columns on three cores
  // more.
  const int64_t of_columns = 2 * 16 * (op_info(Op::sqrt).flops + op_info(Op::add).flops);
  EXPECT_EQ(flops(4), flops(1) + 3 * 32 * 16 + 3 * of_columns);
}

/// What follows takes of a load the rows of the core's share: each is loaded once.
TEST(SecondProduct, SharesOfALoadOverRows) {
  Layer layer{32, 40, 24, 16};
  layer.between = "%c[i, j]";
  layer.after = "%d[i, l] + %r[i, l]";
  const Program given = parse(layer.text());
  std::string why;
  const auto form = second_form_of(given, why);
  ASSERT_TRUE(form) << why;
  const Machine machine = load_machine("h100", {"l2.capacity_bytes=0"});
  const Graph one = kernel_graph(*form, {16, 24, 1, 1}, 2, 4);
  const Graph four = kernel_graph(*form, {16, 6, 1, 1}, 2, 4);
  EXPECT_EQ(compulsory_bytes(one).loaded, compulsory_bytes(four).loaded);
  EXPECT_EQ(compulsory_bytes(one).stored, 32 * 16 * 4);
  EXPECT_EQ(compulsory_bytes(four).stored, 32 * 16 * 4);
  // A quarter of the residual's tile, twice.
  const int64_t residual = kernel_need(one).scratchpad - kernel_need(four).scratchpad;
  EXPECT_EQ(residual, 2 * 4 * (24 - 6) * 4 + (24 - 6) * 16 * 4 + 2 * 12 * 16 * 4 + 12 * 16 * 4 -
                          3 * 4 * 16 * 4);
  const Measured measured = time_tiles(four, machine);
  EXPECT_GE(measured.bytes.global_read, compulsory_bytes(four).loaded);
  EXPECT_EQ(measured.bytes.global_write, 32 * 16 * 4);
}

/// A layer whose rows are scaled before the product and after it by one vector has no cluster that
/// shares its columns; it is planned all the same.
TEST(SecondProducts, WhatFollowsDiffersFromRowToRow) {
  Layer layer{512, 64, 64, 16};
  const Machine machine = load_machine("h100", {});
  for (const char* after : {"relu(%d[i, l] * %s[i])", "relu(%d[i, l] + %r[i, l])"}) {
    layer.between = "%c[i, j] * %s[i]";
    layer.after = after;
    Program program = parse(layer.text());
    make_kernels(program, machine, {.reorder_operands = true});
    EXPECT_FALSE(plan_second_products(program, machine).empty());
    expect_right(program, machine);
  }
}

TEST(SecondProduct, RefusesHostileText) {
  Layer layer;
  const Program given = parse(layer.text());
  std::string why;
  const auto form = second_form_of(given, why);
  ASSERT_TRUE(form) << why;
  const std::string text = print_program(fused(given, *form, {16, 24, 1, 1}, 8));
  expect_refused(text, "n: 1 block=24", "n: 2 block=16", "expected one tile along n");
  expect_refused(text, "m: 3 block=16 size=40 cluster=1", "m: 3 block=16 size=40 cluster=3",
                 "a power of two");
  expect_refused(text, "n: 1 block=24 size=24 cluster=1", "n: 2 block=12 size=24 cluster=2",
                 "expected a product after the steps and one reduce_scatter");
  expect_refused(text, "l: 1 block=10", "l: 2 block=8", "index l: expected one tile");
  expect_refused(text, "tile_multiply ($v_1, $x_3)", "tile_multiply ($v_1, $x_3) capacity=2",
                 "no branch");
  expect_refused(text, "val<n,l>[n,l]", "val<m,k,n,l>[m,k,n,l]",
                 "over up to three of m, n, k and l");
  expect_refused(text, "tile_multiply ($v_1, $x_3)", "tile_multiply ($x_3, $x_3)",
                 "after the steps, expected");
}

}  // namespace
}  // namespace fuseflow::cluster
