// Online softmax with the keys in parts, of the cores of a cluster: a case on paper, values against
// the reference over random programs and masks, closed forms of what links move, counts, choices,
// hostile text.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster/online/tiles.h"
#include "cluster_attention.h"
#include "sim/common/program_result.h"

namespace fuseflow::cluster {
namespace {

/// 16 queries and 32 keys of size 16, a step of 16 keys on each of two cores. Both cores load Q
/// together: it begins when the ports are free of K, at 16, and the channel of the K of both, at
/// 32: 148; V follow at 48 and 64: 164, 180. Then, on both cores: s 148-156; max 188-204, 32 after
/// the product; grown, f 204-213; below 213-229; p 229-357; sum 357-373, o 357-365. The largest was
/// sent at 204: link 1, 10: 215; the lanes are free for the larger of the two at 373-374. less 375,
/// scale 383, sum_part 384, sent until 395, sum_all 396. o_part 415-431, 32 after scale; 8 rows
/// sent, 512 bytes: 449; o_all 449-457, y (128 elements, two a cycle) 521. The stores ask at 521:
/// the channel has the second one until 537; 100.
TEST(SplitOnline, OnPaper) {
  const OnlineForm form = form_of(parse(attention(1, 16, 32, 16, 16, "%s[h, i, j]")));
  Machine machine = paper_machine(2);
  machine.core.vector_operations_per_cycle = 16;
  machine.core.special_operations_per_cycle = 2;
  machine.core.comparison_rate_share = 1;
  const Graph two = online_graph(form, {{16, 16, 16, 1}, 2, 1, 1, 2});
  EXPECT_EQ(depth_cores(two), 2);
  EXPECT_EQ(shared_dim(two), kKernelM);
  const Measured measured = time_tiles(two, machine);
  EXPECT_EQ(measured.cycles, 637);
  EXPECT_EQ(measured.bytes.global_read, 1024 + 2048 + 2048);  // Q once for both
  EXPECT_EQ(measured.bytes.global_write, 1024);
  EXPECT_EQ(measured.bytes.link, 2 * (64 + 64 + 512));  // largest, sum, 8 rows of the result
  // Loads and what is received are written, products and sums read them, each store both.
  EXPECT_EQ(measured.bytes.scratchpad_write, 2 * 3 * 1024 + 1280 + 1024);
  EXPECT_EQ(measured.bytes.scratchpad_read, 2 * 3 * 1024 + 1280 + 1280 + 1024);
  EXPECT_EQ(measured.flops, 4 * 8192);
  // Copies of Q, K and V, the own share that is stored, what the other core sends.
  EXPECT_EQ(kernel_need(two).scratchpad, 3 * 2 * 1024 + 512 + (64 + 64 + 512));
  const Graph one = online_graph(form, {{16, 16, 16, 1}, 2, 1});
  EXPECT_EQ(kernel_need(two).registers - kernel_need(one).registers,
            5 * 64 + 1024 + 512 + 512 - 1024);
  machine.core.count = 1;
  EXPECT_EQ(time_tiles(one, machine).cycles, 883);
}

const std::vector<std::pair<std::string, std::string>> kScores = {
    {"%s[h, i, j]", ""},
    {"%s[h, i, j] * 100", ""},
    {"%s[h, i, j] + %bias[h, i, j]", "bias"},
    {"where(%mask[i, j], %s[h, i, j] / 3, -inf)", "mask"},
    {"%s[h, i, j] + where(%keys[j], 0, -inf)", "keys"},
};

std::string operands_of(const std::string& needs, int heads, int rows, int keys, int seed) {
  const auto data = [&](const std::string& shape, const std::string& levels) {
    return fmt::format("input %{}: f32[{}] {} = uniform(density=0.3,seed={})\n", needs, shape,
                       levels, seed);
  };
  if (needs == "bias")
    return data(fmt::format("{}, {}, {}", heads, rows, keys), "dense,dense,dense");
  if (needs == "mask") return data(fmt::format("{}, {}", rows, keys), "dense,compressed");
  return needs == "keys" ? data(std::to_string(keys), "dense") : "";
}

/// Each core sends each other one its largest, its sum (of rows in fours, which are 16 bytes) and a
/// share of the result.
int64_t link_bytes_of(const Graph& graph, bool maximum) {
  const int64_t cores = depth_cores(graph);
  const KernelSizes block = kernel_block(graph), tiles = kernel_tiles(graph);
  const int64_t rows = (block[kKernelM] + 3) / 4 * 4 * (maximum ? 2 : 1);
  const int64_t share = block[kKernelM] * block[kKernelN] / cores;
  return tiles[kKernelM] * tiles[kKernelN] * tiles[kKernelG] * cores * (cores - 1) * 4 *
         (rows + share);
}

/// Shapes, masks and tiles at random: shares of rows or of columns; parts that do not divide the
/// steps, of which masks leave some without a key.
TEST(SplitOnline, RandomShapesMasksAndParts) {
  int by_columns = 0, uneven = 0;
  for (int seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed);
    const auto among = [&](int least, int most) { return draw.among(least, most); };
    const int parts = 2 << among(0, 3), heads = among(1, 3), rows = among(1, 40);
    const int k = among(1, 7), keys = k * parts + among(0, 30);
    const bool columns = among(0, 1) == 1;
    const int n = columns ? parts * among(1, 2) : among(1, 20),
              m = columns ? 1 : parts * among(1, 2);
    const auto& [scores, needs] = kScores[static_cast<size_t>(among(0, 4))];
    const OnlineTiles tiles{{m, n, k, 1}, among(1, 3), among(1, 2), 1, parts};
    const std::string text = attention(heads, rows, keys, among(1, 20), among(1, 20), scores,
                                       operands_of(needs, heads, rows, keys, seed));
    const Program program = planned(text, tiles);
    expect_attention_right(program);
    const Graph& graph = *program.regions.back().graph;
    by_columns += shared_dim(graph) == kKernelN ? 1 : 0;
    uneven += graph.indices[kKernelK].extent % parts != 0 ? 1 : 0;
    Machine machine = load_machine("h100");
    EXPECT_EQ(time_tiles(graph, machine).bytes.link, link_bytes_of(graph, true));
    machine.links.multicast = false;  // what is loaded once is sent, too
    EXPECT_GE(time_tiles(graph, machine).bytes.link, link_bytes_of(graph, true));
    if (HasFailure()) return;
  }
  EXPECT_GT(by_columns, 15);  // of 60
  EXPECT_GT(uneven, 30);
}

/// Without a maximum there is one exchange less.
TEST(SplitOnline, WithoutAMaximum) {
  std::string text =
      with(attention(2, 9, 50, 4, 12), "exp(%x[h, i, j] - %m[h, i])", "exp(%x[h, i, j])");
  text = with(text, "  %m[h, i] = max(j) %x[h, i, j]\n", "");
  text = with(text, "temp %m: f32[2, 9] dense,dense\n", "");
  const Program program = planned(text, {{4, 12, 7, 1}, 2, 1, 1, 4});
  expect_attention_right(program);
  const Graph& graph = *program.regions.back().graph;
  EXPECT_EQ(kernel_roles(graph).exchanges.size(), 2U);
  EXPECT_EQ(time_tiles(graph, load_machine("h100")).bytes.link, link_bytes_of(graph, false));
}

/// Some rows see no key at all: every core holds nothing of them, 0 / 0, as in the reference. Of
/// other rows the cores of the last keys have a part that is wholly masked.
TEST(SplitOnline, PartsThatAreWhollyMasked) {
  const std::string text =
      attention(2, 32, 36, 8, 8, "where(%kj[j] < %qi[i], %s[h, i, j], -inf)", positions(32, 36));
  expect_attention_right(planned(text, {{8, 8, 5, 1}, 2, 2, 1, 4}));
  expect_attention_right(planned(text, {{1, 8, 4, 1}, 2, 1, 1, 8}));
}

/// What a band or a list leaves out may leave cores without a step.
TEST(SplitOnline, PartsWithoutAStep) {
  const std::string causal =
      attention(2, 40, 40, 8, 8, "where(%qi[i] < %kj[j], -inf, %s[h, i, j])", positions(40, 40));
  Program band = planned(causal, {{8, 8, 8, 1}, 2, 1, 1, 4});
  band.regions.back().graph->tiles->band = {-39, 0};
  const Graph& graph = *band.regions.back().graph;
  EXPECT_TRUE(kernel_walk_of(graph, 0, 0, 0).empty());  // one step, the last core's
  EXPECT_FALSE(kernel_walk_of(graph, 0, 0, 3).empty());
  expect_attention_right(band);
  int empty = 0;
  for (int seed = 1; seed <= 12; ++seed) {
    const std::string mask =
        fmt::format("bigbird(block={},random=1,values=ones,seed={})", 3 + seed % 6, seed);
    const int size = 40 + 7 * (seed % 3), parts = 4 << (seed % 2);
    const Program program =
        with_steps_left_out(masked(2, size, size, mask), {{4, 8, 5, 1}, 2, 1, 1, parts});
    const Graph& open = *program.regions.back().graph;
    for (int64_t m = 0; m < kernel_tiles(open)[kKernelM]; ++m) {
      for (int c = 0; c < parts; ++c) empty += kernel_walk_of(open, m, 0, c).empty() ? 1 : 0;
    }
    expect_attention_right(program);
  }
  EXPECT_GT(empty, 10);
}

/// FLOPs are those of one core, but that each core begins anew, and for what joins the parts.
TEST(SplitOnline, Counts) {
  const std::string text = attention(3, 20, 44, 8, 12, "%s[h, i, j]");
  const auto run_of = [&](int parts) {
    const Program program = planned(text, {{4, 12, 4, 1}, 2, 1, 1, parts});
    return run_program(program, load_tensors(program), load_machine("h100"), {}).regions.at(0);
  };
  const RunResult one = run_of(1), four = run_of(4);
  const int64_t tiles = 3 * 5, rows = 4, result = 4 * 12, parts = 4;
  // Rescaled are the sum and the product: three first steps more do not rescale.
  const int64_t rescaled = tiles * (parts - 1) * (rows + result);
  const int64_t scaled = tiles * parts * (3 * rows + result);  // less, scale, both parts
  const int64_t joined = tiles * (parts * (parts - 1) * 2 * rows + (parts - 1) * result);
  EXPECT_EQ(four.flops, one.flops - rescaled + scaled + joined);
  EXPECT_EQ(four.dram_read_bytes, one.dram_read_bytes);
  EXPECT_EQ(four.dram_write_bytes, one.dram_write_bytes);
  EXPECT_EQ(one.link_bytes, 0);
}

/// Few rows and heads leave cores idle where the keys are not in parts; the search takes parts
/// there, and none that are slower anywhere.
TEST(SplitOnline, IsChosenWhereItIsFaster) {
  for (const char* name : {"h100", "rda"}) {
    const Machine machine = load_machine(name);
    const Machine apart = load_machine(name, {"links.most_cores.2=1", "links.most_cores.4=1",
                                              "links.most_cores.8=1", "links.most_cores.16=1"});
    for (const auto& [heads, rows] : {std::pair(2, 1), std::pair(1, 16), std::pair(16, 128)}) {
      const OnlineForm form = form_of(parse(attention(heads, rows, 1024, 64, 64)));
      const auto with = fastest_online(form, machine), without = fastest_online(form, apart);
      ASSERT_TRUE(with && without);
      EXPECT_LE(with->measured.cycles, without->measured.cycles) << name << ", " << rows;
      if (heads > 2) continue;
      EXPECT_GT(depth_cores(with->graph), 1) << name << ", " << rows;
      EXPECT_LT(with->measured.cycles, without->measured.cycles) << name << ", " << rows;
    }
  }
}

TEST(SplitOnline, RefusesHostileText) {
  const std::string text =
      print_program(planned(attention(2, 20, 36, 8, 8), {{16, 8, 8, 1}, 2, 1, 1, 2}));
  const auto refused = [&](const std::string& from, const std::string& to,
                           const std::string& message) { expect_refused(text, from, to, message); };
  const std::string k = "k: 5 block=8 size=36 cluster=2";
  refused(k, "k: 5 block=8 size=36 cluster=1", "sums over a cluster, expected index n or k");
  refused(k, "k: 5 block=8 size=36 cluster=8", "5 tiles on 8 cores");
  refused("m: 2 block=16 size=20 cluster=1", "m: 2 block=16 size=20 cluster=2",
          "expected cluster=1");
  refused("all_reduce max ($max)", "all_reduce mean ($max)", "cannot take the mean");
  refused("all_reduce max ($max)", "all_reduce max ($s)", "expected tiles (m) or (m, n)");
  refused("all_reduce max ($max)", "all_reduce max (3)", "expected a stream");
  refused("all_reduce sum ($sum_part)", "all_reduce sum ($sum)", "which each core rescaled");
  refused("all_reduce sum ($sum_part)", "all_reduce sum ($largest)", "of which no core has a part");
  refused("reduce_scatter ($o_part)", "reduce_scatter ($o)", "which each core rescaled");
  refused("reduce_scatter ($o_part)", "reduce_scatter ($sum_part)", "expected tiles (m, n)");
  refused("map div ($o_all, $sum_all)", "map div ($o_all, $sum_part)",
          "of which each core has a part");
  refused("map div ($o_all, $sum_all)", "map div ($o_part, $sum_all)",
          "of which each core has a part");
  refused("$o_all: val<m,n>[m,n] = reduce_scatter (", "$o_all: val<m,n>[m,n] = all_reduce sum (",
          "one reduce_scatter");
  const std::string odd =
      print_program(planned(attention(2, 20, 36, 8, 9), {{16, 9, 8, 1}, 2, 1, 1, 2}));
  expect_refused(odd, "m: 2 block=16 size=20", "m: 2 block=15 size=20", "share evenly");
  // A kernel of one reduction has no all_reduce, nor has a product by itself.
  const std::string one = print_program(planned(attention(2, 20, 36, 8, 8), {{16, 8, 8, 1}, 2}));
  expect_refused(one, "$y: val<m,n>[m,n] = map div ($o, $sum)",
                 "$all: val<m>[m] = all_reduce sum ($sum)\n"
                 "      $y: val<m,n>[m,n] = map div ($o, $all)",
                 "sums over a cluster, expected index n or k");
}

}  // namespace
}  // namespace fuseflow::cluster
