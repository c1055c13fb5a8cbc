// Products that leave out tiles of an operand without a value: what the data leave out, the text,
// time and bytes, values against the reference over random patterns, what is refused.
#include <gtest/gtest.h>

#include "cluster/kernels/kernels.h"
#include "cluster/kernels/present_tiles.h"
#include "cluster/plan.h"
#include "cluster_program.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "machine/load.h"
#include "sim/program_run.h"
#include "sim/report/check.h"
#include "sim/tiles/conservation.h"
#include "sim/tiles/kernel.h"
#include "sim/tiles/kernel_counts.h"

namespace fuseflow::cluster {
namespace {

std::string shape(int batch, int rows, int columns) {
  return "f32[" + (batch > 1 ? std::to_string(batch) + ", " : "") + std::to_string(rows) + ", " +
         std::to_string(columns) + "] " + (batch > 1 ? "dense," : "");
}

/// y = a x + bias of columns, with the operand `a` as blocks; second in the text where `swapped`.
std::string product(const Blocks& a, int columns, bool swapped = false,
                    const std::string& levels = "dense,dense") {
  const bool heads = a.batch > 1;
  const std::string g = heads ? "g, " : "";
  const std::string left = "%a[" + g + "i, k]", right = "%x[" + g + "k, j]";
  return "const %a: " + shape(a.batch, a.rows, a.columns) + levels + " = " + a.values() +
         "\ninput %x: " + shape(a.batch, a.columns, columns) +
         "dense,dense = uniform(density=1,seed=2)\ninput %b: f32[" + std::to_string(columns) +
         "] dense = uniform(density=1,seed=3)\nresult %y: " + shape(a.batch, a.rows, columns) +
         "dense,dense\nregion @y { %y[" + g + "i, j] = sum(k) " + (swapped ? right : left) + " * " +
         (swapped ? left : right) + " + %b[j] }\n";
}

/// The program with the kernel of these tiles.
Program with_sparse_kernel(const std::string& text, const KernelSizes& block) {
  Program program = parse(text);
  const auto form = sparse_of(program);
  EXPECT_TRUE(form) << text;
  if (form) program.regions.back().graph = kernel_graph(*form, block, 2);
  return program;
}

TEST(PresentElements, TilesOfAnySize) {
  // Row 0 has columns 0 to 2, row 1 none, row 2 column 5; a second matrix has row 1, column 3.
  const PresentElements present(2, 3, 6, {0, 1, 1, 2, 2, 3, 3}, {{0, 3}, {5, 6}, {3, 4}});
  EXPECT_EQ(present.values(), 5);
  EXPECT_EQ(present.tiles(1, 2), (Walks{{{0, 2}}, {}, {{2, 3}}, {}, {{1, 2}}, {}}));
  EXPECT_EQ(present.tiles(2, 3), (Walks{{{0, 1}}, {{1, 2}}, {{1, 2}}, {}}));
  EXPECT_EQ(present.tiles(4, 8), (Walks{{{0, 1}}, {{0, 1}}}));
}

TEST(PresentElements, RowsThatStandSeveralTimes) {
  // Three rows, twice: columns 0 and 1, column 3, columns 1 to 2.
  const PresentElements present(1, 3, 4, {0, 1, 2, 3}, {{0, 2}, {3, 4}, {1, 3}}, 2);
  EXPECT_EQ(present.values(), 5);  // each once
  EXPECT_EQ(present.band(), (std::array<int64_t, 2>{-1, 2}));
  EXPECT_EQ(present.tiles(1, 2),
            (Walks{{{0, 1}}, {{1, 2}}, {{0, 2}}, {{0, 1}}, {{1, 2}}, {{0, 2}}}));
  EXPECT_EQ(present.tiles(4, 2), (Walks{{{0, 2}}, {{0, 2}}}));  // a tile has rows of both times
}

TEST(SparseForm, EitherOperandFromAnyFormat) {
  const Blocks blocks{1, 40, 70, 16, 40, 3};
  for (const char* levels : {"dense,dense", "dense,dense@1,0"}) {
    for (const bool swapped : {false, true}) {
      const auto form = sparse_of(parse(product(blocks, 24, swapped, levels)));
      ASSERT_TRUE(form);
      EXPECT_EQ(sizes_of(*form), (KernelSizes{40, 24, 70, 1}));  // rows are those of the blocks
      Walks wanted(3);
      for (int m = 0; m < 3; ++m) {
        for (int k = 0; k < 5; ++k) {
          if (!blocks.present(0, 16 * m, 16 * k)) continue;
          std::vector<TileRange>& list = wanted[static_cast<size_t>(m)];
          if (list.empty() || list.back().end < k) list.push_back({k, k});
          list.back().end = k + 1;
        }
      }
      EXPECT_EQ(form->present->tiles(16, 16), wanted);
    }
  }
}

TEST(SparseForm, OnlyWhereItCannotMatter) {
  const std::string good = product({1, 40, 70, 16, 40, 3}, 24);
  const auto none = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    const Program program = parse(text.replace(at, from.size(), to));
    EXPECT_FALSE(sparse_of(program)) << text;
  };
  EXPECT_TRUE(sparse_of(parse(good)));
  const size_t second = good.find("input %x"), after = good.find('\n', second) + 1;
  const std::string x_first =
      good.substr(second, after - second) + good.substr(0, second) + good.substr(after);
  EXPECT_TRUE(sparse_of(parse(x_first)));
  EXPECT_FALSE(
      sparse_of(parse(with(x_first, "= uniform(density=1,seed=2)", "= constant(value=inf)"))));
  none("= uniform(density=1,seed=2)", "= constant(value=inf)");  // 0 * inf is not 0
  none("const %a: f32[40, 70] dense,dense", "input %a: f32[40, 70] dense,dense");  // other data
  none("%a[i, k]", "%a[i, k + 1]");                                      // not one loop by itself
  EXPECT_FALSE(sparse_of(parse(product({1, 40, 70, 16, 100, 3}, 24))));  // nothing is left out
}

/// One tile of k in four: the same operations as a product of that tile alone.
TEST(SparseKernel, TakesTheTimeOfWhatIsThere) {
  const Machine machine = load_machine("h100", {"core.count=1"});
  std::string part = "values(", whole = "values(";
  for (int i = 0; i < 16; ++i) {
    for (int k = 0; k < 64; ++k) {
      if (k >= 32 && k < 48) whole += std::to_string(i + k) + ", ";
      part += std::string(k >= 32 && k < 48 ? std::to_string(i + k) : "0") + ", ";
    }
  }
  const auto text = [](const std::string& a, int inner) {
    const std::string n = std::to_string(inner);
    return "const %a: f32[16, " + n + "] dense,dense = " + a.substr(0, a.size() - 2) +
           ")\ninput %x: f32[" + n + ", 32] dense,dense = uniform(density=1,seed=2)\n" +
           "result %y: f32[16, 32] dense,dense\n" +
           "region @y { %y[i, j] = sum(k) %a[i, k] * %x[k, j] }\n";
  };
  const Graph open = *with_sparse_kernel(text(part, 64), {16, 16, 16, 1}).regions.back().graph;
  EXPECT_EQ(open.tiles->open, (Walks{{{2, 3}}}));
  const Graph alone = kernel_graph(kernel_form_of(parse(text(whole, 16))), {16, 16, 16, 1}, 2);
  const Measured measured = time_tiles(open, machine), wanted = time_tiles(alone, machine);
  EXPECT_EQ(measured.cycles, wanted.cycles);
  EXPECT_EQ(measured.flops, wanted.flops);
  EXPECT_EQ(measured.nodes, wanted.nodes);
  EXPECT_EQ(measured.bytes.global_read, wanted.bytes.global_read);
  EXPECT_EQ(tiles_present(open).present, 1);
  EXPECT_EQ(tiles_present(open).all, 4);
  EXPECT_EQ(tiles_present(alone).all, 0);
}

/// Nothing to multiply: what follows the product still has its operands, and the result is stored.
TEST(SparseKernel, AllAbsent) {
  const Machine machine = load_machine("h100", {"core.count=2"});
  const Program program = with_sparse_kernel(product({1, 40, 70, 16, 0, 1}, 24), {16, 16, 16, 1});
  const Graph& graph = *program.regions.back().graph;
  EXPECT_EQ(graph.tiles->open, Walks(3));
  const Measured measured = time_tiles(graph, machine);
  EXPECT_EQ(measured.flops, 0);
  EXPECT_EQ(compulsory_bytes(graph).loaded, 4 * 32);  // the bias
  EXPECT_EQ(compulsory_bytes(graph).stored, 4 * 48 * 32);
  expect_right(program, machine);
  const std::string text = print_program(program);
  EXPECT_NE(text.find("open=[; ; ]"), std::string::npos) << text;
  EXPECT_EQ(print_program(parse_program({"again", text})), text);
}

/// Patterns of blocks of any size, part and edge, in tiles of any size, either operand, batches.
TEST(SparseKernel, RandomPatternsAgainstTheReference) {
  const Machine machine = load_machine("h100", {"core.count=3"});
  int left_out = 0, empty_rows = 0, batched = 0;
  for (int seed = 1; seed <= 40; ++seed) {
    Draw draw(seed);
    const auto among = [&](int least, int most) { return draw.among(least, most); };
    const Blocks blocks{among(0, 1) == 0 ? among(2, 3) : 1,
                        among(17, 70),
                        among(17, 70),
                        among(3, 24),
                        among(0, 4) * 25,
                        seed};
    const int columns = among(1, 40);
    const std::string text = product(blocks, columns, seed % 2 == 0);
    if (!sparse_of(parse(text))) continue;
    const KernelSizes block{among(3, 40), among(3, 40), among(3, 40), 1};
    const Program program = with_sparse_kernel(text, block);
    const Graph& graph = *program.regions.back().graph;
    expect_right_and_read_again(program, machine);

    Graph dense = graph;
    dense.tiles->open.clear();
    const Measured part = time_tiles(graph, machine), whole = time_tiles(dense, machine);
    EXPECT_LE(part.cycles, whole.cycles) << print_program(program);
    EXPECT_LE(part.bytes.global_read, whole.bytes.global_read);
    EXPECT_GE(part.bytes.global_read, compulsory_bytes(graph).loaded);
    if (graph.tiles->open.empty()) continue;
    // Every column of tiles multiplies the tiles that are present, and no other.
    const TilesPresent tiles = tiles_present(graph);
    const int64_t multiplied = tiles.present * kernel_tiles(graph)[kKernelN];
    EXPECT_EQ(part.flops, 2 * block[0] * block[1] * block[2] * multiplied)
        << print_program(program);
    left_out += tiles.present < tiles.all ? 1 : 0;
    batched += walks_differ_by_batch(graph) ? 1 : 0;
    for (const std::vector<TileRange>& list : graph.tiles->open) empty_rows += list.empty() ? 1 : 0;
  }
  EXPECT_GT(left_out, 10);
  EXPECT_GT(empty_rows, 5);
  EXPECT_GT(batched, 3);
}

/// Bound to other data, the program says which tile holds what, where.
TEST(SparseKernel, ATileThatHoldsAValueIsRefused) {
  const Blocks blocks{1, 40, 70, 16, 40, 3};
  Program program = with_sparse_kernel(product(blocks, 24), {16, 16, 16, 1});
  std::vector<TileRange>& list = program.regions.back().graph->tiles->open.at(2);
  ASSERT_FALSE(list.empty());
  const int64_t k = list.back().end - 1;
  if (--list.back().end == list.back().begin) list.pop_back();
  const std::string says =
      refusal([&] { run_program(program, load_tensors(program), load_machine("h100", {}), {}); });
  EXPECT_NE(says.find("leaves out tile (m 2, k " + std::to_string(k) + ", g 0) of %a"),
            std::string::npos)
      << says;
  EXPECT_NE(says.find("at [3"), std::string::npos) << says;  // a row from 32 on
}

TEST(SparseRules, RefusesHostileLists) {
  const std::string text =
      print_program(with_sparse_kernel(product({1, 40, 70, 16, 0, 1}, 24), {16, 16, 16, 1}));
  const auto refused = [&](const std::string& lists, const std::string& message) {
    std::string other = text;
    const std::string from = "open=[; ; ]";
    other.replace(other.find(from), from.size(), "open=[" + lists + "]");
    const std::string says = refusal([&] { parse_program({"text", other}); });
    EXPECT_NE(says.find(message), std::string::npos) << lists << ": " << says;
  };
  refused("0:1; 0:1", "`open` has 2 lists, expected 3");
  refused("", "`open` has 1 lists, expected 3");
  refused("; ; ; ", "`open` has 4 lists, expected 3");
  refused("0:6; ; ", "expected ranges BEGIN:END of the 5 tiles");
  refused("0:2, 1:3; ; ", "ascending, with a gap");
  refused("0:2, 2:3; ; ", "ascending, with a gap");
  refused("3:4, 0:1; ; ", "ascending, with a gap");
  refused("2:2; ; ", "ascending, with a gap");
  refused("-1:2; ; ", "");
  refused("0:9223372036854775807; ; ", "expected ranges");
  refused("0:9223372036854775808; ; ", "");
  refused("0:1,; ; ", "the first tile of k");
  refused("0:1 2:3; ; ", "expected");
  refused("0; ; ", "expected");
}

TEST(SparseRules, OpenIsOfProducts) {
  const Program program = parse(
      "input %x: f32[20, 36] dense,dense = uniform(density=1,seed=1)\nresult %y: f32[20] dense\n"
      "region @y { %y[i] = sum(k) %x[i, k] }\n");
  Program made = program;
  made.regions[0].graph = kernel_graph(kernel_form_of(program), {20, 1, 18, 1}, 2);
  std::string text = print_program(made);
  text.replace(text.find("bytes=4"), 7, "bytes=4 open=[0:1]");
  EXPECT_NE(refusal([&] {
              parse_program({"text", text});
            }).find("`open` needs a product"),
            std::string::npos);
}

/// Sizes that are too large to walk are refused, not walked.
TEST(SparseRules, FewTilesOfManyAreFew) {
  std::string text =
      "input %a: f32[16, 536870912] dense,dense\n"
      "input %x: f32[536870912, 1] dense,dense\n"
      "result %y: f32[16] dense\nregion @y {\n  %y[i] = sum(k) %a[i, k] * %x[k, 0]\n  graph {\n"
      "    index m: 1 block=16 size=16 cluster=1 digits=[i:16]\n"
      "    index n: 1 block=1 size=1 cluster=1 digits=[one_n:1]\n"
      "    index k: 33554432 block=16 size=536870912 cluster=1 digits=[k:536870912]\n"
      "    index g: 1 block=1 size=1 cluster=1 digits=[one_g:1]\n"
      "    tiles [] bytes=4 open=[0:1, 33554431:33554432]\n    phase {\n"
      "      $x: val<m,k>[m,k] = tile_load %a[i, k] capacity=2\n"
      "      $x_1: val<k,n>[k,n] = tile_load %x[k, 0] capacity=2\n"
      "      $c: val<m,n>[m,n] = tile_multiply ($x, $x_1)\n"
      "      tile_store %y[i] ($c)\n    }\n  }\n}\n";
  const Program program = parse(text);
  const Graph& graph = *program.regions[0].graph;
  EXPECT_EQ(time_tiles(graph, load_machine("h100", {})).nodes, 2 * 3 + 1);
  const auto unfinished = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    const Program changed = parse(other);
    EXPECT_THROW(time_tiles(*changed.regions[0].graph, load_machine("h100", {})), Error) << to;
  };
  unfinished("open=[0:1, 33554431:33554432]", "open=[0:33554432]");
  // Tiles of x in 100 columns have numbers beyond 31 bits.
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"f32[536870912, 1]", "f32[536870912, 100]"},
           {"f32[16] dense", "f32[16, 100] dense,dense"},
           {"%y[i] = sum(k) %a[i, k] * %x[k, 0]", "%y[i, j] = sum(k) %a[i, k] * %x[k, j]"},
           {"n: 1 block=1 size=1", "n: 100 block=1 size=100"},
           {"one_n:1", "j:100"},
           {"%x[k, 0] cap", "%x[k, j] cap"}}) {
    ASSERT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), from.size(), to);
  }
  unfinished("tile_store %y[i]", "tile_store %y[i, j]");
}

/// The choice: what is faster, never slower than with all tiles; a compressed operand is stored
/// dense where kernels alone read it.
TEST(SparseKernels, AreChosenWhereTheyAreFaster) {
  const Machine machine = load_machine("h100", {});
  Program program = parse(product({1, 256, 256, 32, 10, 4}, 64, false, "dense,compressed"));
  Program refusing = program;
  EXPECT_EQ(make_kernels(refusing, machine).size(), 1U);  // not stored dense
  std::vector<SparseKernel> sparse;
  const KernelOptions options{.store_operands_dense = true, .sparse = &sparse};
  EXPECT_TRUE(make_kernels(program, machine, options).empty());
  ASSERT_EQ(sparse.size(), 1U);
  EXPECT_LT(sparse[0].cycles, sparse[0].dense_cycles);
  EXPECT_LT(sparse[0].present, sparse[0].tiles);
  EXPECT_TRUE(program.tensors[0].format.all_dense());
  EXPECT_EQ(time_tiles(*program.regions[0].graph, machine).cycles, sparse[0].cycles);
  expect_right(program, machine);

  Program full = parse(product({1, 256, 256, 32, 100, 4}, 64, false, "dense,compressed"));
  EXPECT_TRUE(make_kernels(full, machine, options).empty());
  EXPECT_TRUE(sparse.empty());
}

/// y = a h, where h is what is said of x: two regions.
std::string product_of_computed(const std::string& h, const std::string& facts) {
  const Blocks a{1, 256, 256, 32, 10, 4};
  return "const %a: f32[256, 256] dense,dense = " + a.values() +
         "\ninput %x: f32[256, 64] dense,dense" + facts +
         " = uniform(density=1,seed=2)\ntemp %h: f32[256, 64] dense,dense\nresult %y: f32[256, "
         "64] dense,dense\nregion @h { %h[i, j] = " +
         h + " }\nregion @y { %y[i, j] = sum(k) %a[i, k] * %h[k, j] }\n";
}

/// 0 times infinity is not 0: the values beside must be proved finite, by the range of the data
/// that they are computed from. That x is finite does not say that x + x is.
TEST(SparseKernels, LeaveOutNothingBesideWhatMayBeInfinite) {
  const Machine machine = load_machine("h100", {});
  const auto made = [&](const std::string& h, const std::string& facts) {
    Program program = parse(product_of_computed(h, facts));
    std::vector<SparseKernel> sparse;
    std::vector<UnprovedProduct> unproved;
    EXPECT_TRUE(make_kernels(program, machine, {.sparse = &sparse, .unproved = &unproved}).empty());
    expect_right(program, machine);
    const bool leaves_out = !program.regions[1].graph->tiles->open.empty();
    EXPECT_EQ(unproved.size(), leaves_out ? 0U : 1U);
    for (const UnprovedProduct& product : unproved) {
      EXPECT_EQ(product.sparse.not_finite, find_tensor(program, "h"));
      sparse.push_back(if_finite(product, machine).value());
    }
    EXPECT_EQ(sparse.size(), 1U) << h;
    EXPECT_EQ(sparse[0].operand, find_tensor(program, "a"));
    EXPECT_LT(sparse[0].present, sparse[0].tiles);
    EXPECT_LT(sparse[0].cycles, sparse[0].dense_cycles);
    EXPECT_EQ(time_tiles(*program.regions[1].graph, machine).cycles,
              leaves_out ? sparse[0].cycles : sparse[0].dense_cycles);
    return leaves_out;
  };
  EXPECT_TRUE(made("%x[i, j] + %x[i, j]", ""));
  EXPECT_TRUE(made("%x[i, j] + %x[i, j]", " facts(finite)"));  // the range is read
  EXPECT_FALSE(made("1 / %x[i, j]", ""));                      // x may hold 0
}

/// A chain has to beat its kernels that leave tiles out, too.
TEST(SparseKernels, AChainOfThemIsPlannedWhereItIsFaster) {
  const Machine machine = load_machine("h100", {"core.count=2", "core.matrix_flops_per_cycle=256"});
  const auto chains = [&](int part) {
    const Blocks up{1, 128, 256, 32, part, 1}, down{1, 256, 128, 32, part, 2};
    const std::string square = "f32[64, 128] dense,dense", inner = "f32[64, 256] dense,dense";
    const Program program =
        parse("input %x: " + square + " = dense(seed=1)\nconst %w: f32[128, 256] dense,dense = " +
              up.values() + "\nconst %v: f32[256, 128] dense,dense = " + down.values() +
              "\ntemp %h: " + inner + "\ntemp %a: " + inner + "\nresult %y: " + square +
              "\nregion @h { %h[i, j] = sum(k) %x[i, k] * %w[k, j] }\n"
              "region @a { %a[i, j] = relu(%h[i, j]) }\n"
              "region @y { %y[i, j] = sum(k) %a[i, k] * %v[k, j] }\n");
    PlanListener unheard;
    const Program made =
        plan(program, machine, {.given = given_formats(program), .effort = {.operations = 1 << 14}},
             unheard);
    expect_right(made, machine);
    return std::count_if(made.regions.begin(), made.regions.end(), [](const Region& region) {
      const std::string kind = region.plan.empty() ? "" : region.plan[0].second;
      return kind == "gemm" || kind == "rows";
    });
  };
  EXPECT_EQ(chains(100), 1);
  EXPECT_EQ(chains(3), 0);
}

TEST(SparseKernels, AllReadersOnAMachineOfCoresReadDenseCopies) {
  const std::string text = product({1, 64, 64, 16, 30, 4}, 16, false, "dense,compressed") +
                           "result %z: f32[64, 64] dense,dense\n"
                           "region @z { %z[i, k] = %a[i, k] + coordinate(i) }\n";
  Program program = parse(text);
  EXPECT_EQ(make_kernels(program, load_machine("h100", {}), {.store_operands_dense = true}).size(),
            0U);
  EXPECT_TRUE(program.tensors[0].format.all_dense());
}

/// What is said is of the kernels that are in the program.
TEST(SparseKernels, ARegionThatIsLeftHasNone) {
  std::string text =
      product({1, 256, 256, 32, 10, 4}, 64) + "result %z: f32[256, 64] dense,compressed\n";
  text.replace(text.rfind(" }\n"), 3, "\n %z[i, j] = relu(%y[i, j]) }\n");
  const size_t region = text.find("region"), last = text.find("result %z");
  const std::string declared = text.substr(last);  // tensors come before regions
  text = text.substr(0, region) + declared + text.substr(region, last - region);
  Program program = parse(text);
  std::vector<SparseKernel> sparse;
  EXPECT_EQ(make_kernels(program, load_machine("h100", {}), {.sparse = &sparse}).size(), 1U);
  EXPECT_TRUE(sparse.empty());
}

}  // namespace
}  // namespace fuseflow::cluster
