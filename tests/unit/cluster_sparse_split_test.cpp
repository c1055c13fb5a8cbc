// Products that leave steps out with k in parts: cases on paper, values against the reference over
// random patterns, counts, what the search takes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster/common/candidates.h"
#include "cluster/kernels/gathered.h"
#include "cluster/kernels/present_tiles.h"
#include "cluster/kernels/tiles.h"
#include "cluster_program.h"
#include "machine/load.h"
#include "sim/common/program_result.h"
#include "sim/tiles/conservation.h"
#include "sim/tiles/kernel_counts.h"
#include "sim/tiles/timing.h"
#include "support/ceil_div.h"

namespace fuseflow::cluster {
namespace {

/// y = what is said of the product of a, of blocks by columns, and b, by batch g.
std::string product(const Blocks& a, int columns, const std::string& text_of_y) {
  return batched_product(a.rows, columns, a.columns, a.batch, a.values(), text_of_y);
}

const char* const kProduct = "sum(k) %a[g, i, k] * %b[g, k, j]";

/// The form that leaves steps out, which may gather where its data are stored so.
KernelForm gathered_form_of(const Program& program) {
  auto form = PresenceFinder(program).sparse_form(kernel_form_of(program));
  EXPECT_TRUE(form);
  if (!form) return {};
  form->gathered = gathered_format(program, *form, {});
  return *form;
}

/// A product of 16 x 16 that walks these of four tiles of 16, on two cores.
Graph paper_graph(std::vector<TileRange> walked) {
  const Program program = parse(product({1, 16, 64, 16, 100, 1}, 16, kProduct));
  Graph graph = kernel_graph(kernel_form_of(program), {16, 16, 16, 1}, 2, 0, {2});
  graph.tiles->open = {std::move(walked)};
  return graph;
}

/// Of tiles 0, 2 and 3 the first core has 0. The channel has A0 until 16, A2 32, X0 48, X2 64, A3
/// 80, X3 96 (the second core asks for them when its port is free: 16 each); 100, and the first
/// core multiplies from 148 to 156, the second from 164 to 172 and from 196 to 204. It sends at
/// 236: link 8, 10: 254. A sum takes a cycle, and the stores the channel for 8 each: 255, 263, 271;
/// 100.
TEST(SparseSplit, OnPaper) {
  const Graph graph = paper_graph({{0, 1}, {2, 4}});
  EXPECT_EQ(kernel_walk_of(graph, 0, 0, 0), (std::vector<TileRange>{{0, 1}}));
  EXPECT_EQ(kernel_walk_of(graph, 0, 0, 1), (std::vector<TileRange>{{2, 4}}));
  const Measured measured = time_tiles(graph, paper_machine(2));
  EXPECT_EQ(measured.cycles, 371);
  EXPECT_EQ(measured.nodes, (2 + 1 + 3) + (4 + 2 + 3));
  EXPECT_EQ(measured.bytes.global_read, 6 * 1024);
  EXPECT_EQ(measured.bytes.link, 2 * 512);
}

/// Of tile 1 alone the first core has nothing: it sends zeros at once, which the second one has at
/// 18. That loads A1 until 116 and X1 until 132, multiplies to 140, sends at 172: 180, 190. Both
/// sum to 191, and the channel has the stores until 199 and 207; 100.
TEST(SparseSplit, AnEmptyPartOnPaper) {
  const Graph graph = paper_graph({{1, 2}});
  EXPECT_TRUE(kernel_walk_of(graph, 0, 0, 0).empty());
  const Measured measured = time_tiles(graph, paper_machine(2));
  EXPECT_EQ(measured.cycles, 307);
  EXPECT_EQ(measured.nodes, 3 + (2 + 1 + 3));
  EXPECT_EQ(measured.bytes.global_read, 2 * 1024);
  EXPECT_EQ(measured.bytes.link, 2 * 512);
}

const std::vector<std::string> kOfSparse{
    kProduct, "(sum(k) %a[g, i, k] * %b[g, k, j]) + %r[g, i, j] * %s[i] + sqrt(%v[j] + 2) + 1",
    "relu((sum(k) %a[g, i, k] * %b[g, k, j]) * %s[i] + %v[j])",
    "(sum(k) %b[g, k, j] * %a[g, i, k]) * sqrt(%v[j] + 2) - %r[g, i, j] * %r[g, i, j]"};

/// Blocks, tiles, rows gathered or not, cores and clusters, and what follows the product at random;
/// parts may be empty.
TEST(SparseSplit, RandomProductsAgainstTheReference) {
  int checked = 0, empty = 0, gathered = 0, added = 0;
  for (int seed = 1; seed <= 120; ++seed) {
    Draw draw(seed);
    const auto among = [&](int least, int most) { return draw.among(least, most); };
    const int follows = among(0, 3);
    const DepthParts parts{1 << among(0, 3), follows < 2 ? 1 << among(0, 2) : 1};
    const bool l2 = among(0, 1) == 1;
    const Machine machine =
        load_machine("h100", {"core.count=" + std::to_string(parts.cores * among(1, 5)),
                              among(0, 1) == 0 ? "links.multicast=true" : "links.multicast=false",
                              l2 ? "l2.capacity_bytes=1000000" : "l2.capacity_bytes=0"});
    const Blocks a{among(1, 2), among(1, 60), among(20, 90), among(1, 9), among(2, 70), seed};
    const Program given = parse(product(a, among(1, 40), kOfSparse[static_cast<size_t>(follows)]));
    const auto sparse = PresenceFinder(given).sparse_form(kernel_form_of(given));
    if (!sparse) continue;
    const int64_t packed = among(0, 1) * among(1, 12);
    const KernelSizes block{parts.cores * among(1, 3), among(1, 40), packed > 0 ? 1 : among(1, 4),
                            1};
    if (sizes_of(*sparse)[kKernelK] < parts.all() * block[kKernelK]) continue;
    Program program = given;
    program.regions.back().graph = kernel_graph(*sparse, block, among(1, 3), packed, parts);
    const Graph& graph = *program.regions.back().graph;
    if (graph.tiles->open.empty() || parts.all() == 1) continue;
    for (int64_t part = 0; part < parts.all(); ++part) {
      empty += kernel_walk_of(graph, 0, 0, part).empty() ? 1 : 0;
    }
    ++checked;
    gathered += packed > 0 ? 1 : 0;
    added += parts.clusters > 1 ? 1 : 0;
    expect_right_and_read_again(program, machine);
    const Measured measured = time_tiles(graph, machine);
    const CompulsoryBytes least = compulsory_bytes(graph);
    EXPECT_GE(measured.bytes.global_read, least.loaded);
    // Where clusters add: sums, zeros in their place and the result; an L2 keeps the sums
    // meanwhile.
    const int64_t settled = l2 ? 2 : parts.clusters + 2;
    const int64_t times = parts.clusters > 1 ? settled : 1;
    EXPECT_EQ(measured.bytes.global_write, least.stored * times);
    EXPECT_EQ(measured.bytes.link > 0, parts.cores > 1);
  }
  EXPECT_GT(checked, 50);  // of 120
  EXPECT_GT(empty, 40);
  EXPECT_GT(gathered, 20);
  EXPECT_GT(added, 20);
}

/// FLOPs are those of one core, but for the sums of parts, empty ones too; every step is done once.
TEST(SparseSplit, Counts) {
  const Blocks a{1, 32, 96, 16, 40, 3};
  const Program given = parse(product(a, 24, kProduct));
  const auto run_of = [&](const DepthParts& parts) {
    Program program = given;
    program.regions.back().graph =
        kernel_graph(gathered_form_of(given), {16, 24, 16, 1}, 2, 0, parts);
    return run_program(program, load_tensors(program), load_machine("h100"), {}).regions.at(0);
  };
  const RunResult one = run_of({}), four = run_of({4}), added = run_of({2, 2});
  const int64_t sums = 3 * 32 * 24;
  EXPECT_EQ(four.flops, one.flops + sums);
  EXPECT_EQ(added.flops, one.flops + sums);
  EXPECT_EQ(four.link_bytes, sums * 4);
  EXPECT_EQ(added.link_bytes, 2 * 32 * 24 * 4);
  EXPECT_EQ(four.dram_write_bytes, one.dram_write_bytes);
}

/// Cycles of the fastest kernel that leaves tiles out with all of k on a core.
int64_t fastest_whole(const KernelForm& sparse, const Machine& machine) {
  int64_t fewest = 0;
  const KernelSizes size = sizes_of(sparse);
  for (const int64_t m : power_blocks(size[kKernelM], 256)) {
    for (const int64_t n : power_blocks(size[kKernelN], 256)) {
      for (const int64_t k : power_blocks(size[kKernelK], 256)) {
        for (const int cores : {1, 2, 4, 8}) {
          if (ceil_div(size[kKernelM], m) < cores) continue;
          Graph graph = kernel_graph(sparse, {m, n, k, 1}, 4);
          graph.indices[kKernelM].tiling.cluster = cores;
          if (!fits_core(kernel_need(graph), machine)) continue;
          LaunchOptions options;
          options.most_cycles = fewest;
          const Measured measured = time_tiles(graph, machine, options);
          if (measured.finished) fewest = measured.cycles;
        }
      }
    }
  }
  return fewest;
}

/// Few tiles leave cores idle where k is not split; the search takes parts of what is present.
TEST(SparseSplit, IsChosenWhereItIsFaster) {
  const Blocks a{1, 128, 1024, 32, 40, 5};
  for (const char* name : {"h100", "rda"}) {
    const Machine machine = load_machine(name);
    for (const char* text_of_y : {kProduct, "relu(sum(k) %a[g, i, k] * %b[g, k, j])"}) {
      const Program program = parse(product(a, 16, text_of_y));
      KernelForm sparse = gathered_form_of(program);
      sparse.gathered.reset();
      const auto taken = fastest_kernel(kernel_form_of(program), machine, &sparse);
      ASSERT_TRUE(taken);
      EXPECT_FALSE(taken->graph.tiles->open.empty()) << name;
      EXPECT_GT(depth_parts(taken->graph), 1) << name;
      EXPECT_LT(taken->measured.cycles, taken->dense_cycles) << name;
      EXPECT_LT(taken->measured.cycles, fastest_whole(sparse, machine)) << name;
    }
  }
}

/// The search also takes parts of rows that are gathered, where that is faster.
TEST(SparseSplit, GathersPartsWhereThatIsFaster) {
  const Blocks a{1, 64, 2048, 1, 8, 5};
  const Machine machine = load_machine("h100");
  const Program program = parse(product(a, 32, kProduct));
  const KernelForm sparse = gathered_form_of(program);
  ASSERT_TRUE(sparse.gathered);
  const auto taken = fastest_kernel(kernel_form_of(program), machine, &sparse);
  ASSERT_TRUE(taken);
  EXPECT_GT(gathered_step(taken->graph), 0);
  EXPECT_GT(depth_parts(taken->graph), 1);
  EXPECT_LT(taken->measured.cycles, taken->ungathered_cycles);
}

}  // namespace
}  // namespace fuseflow::cluster
