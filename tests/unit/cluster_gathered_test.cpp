// Gathered products: rows of an operand loaded one by one for the columns that hold values. Time
// and bytes of a worked case, values against the reference over random graphs, storage, what is
// refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <random>
#include <set>

#include "cluster/kernels/gathered.h"
#include "cluster/kernels/kernels.h"
#include "cluster/kernels/present_tiles.h"
#include "cluster/kernels/separate_kernels.h"
#include "cluster/remaining.h"
#include "cluster_program.h"
#include "ir/copies.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "machine/load.h"
#include "sim/program_run.h"
#include "sim/report/check.h"
#include "sim/tiles/conservation.h"
#include "sim/tiles/kernel.h"
#include "sim/tiles/kernel_counts.h"
#include "sim/tiles/timing.h"
#include "support/ceil_div.h"

namespace fuseflow::cluster {
namespace {

/// y = relu(a x + bias) with a of single values at random places; `part` of 100 are there.
struct SparseProduct {
  int rows = 40, inner = 70, columns = 24, part = 5, seed = 1;
  std::string levels = "dense,dense@1,0", right = "dense,dense";

  std::string text() const {
    const std::string values = sparse_values(rows * inner, part, seed);
    const std::string m = std::to_string(rows), k = std::to_string(inner);
    const std::string n = std::to_string(columns);
    return "const %a: f32[" + m + ", " + k + "] " + levels + " = values(" + values +
           ")\ninput %x: f32[" + k + ", " + n + "] " + right +
           " = uniform(density=1,seed=2)\ninput %b: f32[" + n +
           "] dense = uniform(density=1,seed=3)\nresult %y: f32[" + m + ", " + n +
           "] dense,dense\nregion @y { %y[i, j] = relu(sum(k) %a[i, k] * %x[k, j] + %b[j]) }\n";
  }
};

Program gathered(const std::string& text, int64_t m, int64_t n, int64_t packed) {
  Program program = parse(text);
  const auto form = sparse_of(program);
  EXPECT_TRUE(form) << text;
  if (form) program.regions.back().graph = kernel_graph(*form, {m, n, 1, 1}, 2, packed);
  return program;
}

/// One core, bursts of 64 bytes. The tile has columns 1, 4 and 5 of A; two are packed. A column has
/// 16 values (64 bytes), a row of X 24 (96 bytes, two bursts).
Graph worked_graph() {
  std::string values;
  for (int i = 0; i < 16; ++i) {
    for (int k = 0; k < 8; ++k) {
      const bool there = k == 1 || k == 4 || (k == 5 && i == 3);
      values += (values.empty() ? "" : ", ") + std::string(there ? "2" : "0");
    }
  }
  const std::string text =
      "const %a: f32[16, 8] dense,dense@1,0 = values(" + values +
      ")\ninput %x: f32[8, 24] dense,dense = uniform(density=1,seed=2)\n"
      "result %y: f32[16, 24] dense,dense\nregion @y { %y[i, j] = sum(k) %a[i, k] * %x[k, j] }\n";
  Program program = parse(text);
  std::string why;
  auto form = kernel_form(program, program.regions[0].statements[0], {}, why);
  EXPECT_TRUE(form) << why;
  form->present = std::make_shared<const PresentElements>(
      1, 16, 8, std::vector<size_t>{0, 0, 0, 0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3},
      std::vector<PresentElements::Stretch>{{1, 2}, {4, 5}, {5, 6}});
  return kernel_graph(*form, {16, 24, 1, 1}, 2, 2);
}

TEST(GatheredKernel, WorkedCase) {
  const Graph graph = worked_graph();
  EXPECT_EQ(graph.tiles->open, (Walks{{{1, 2}, {4, 6}}}));
  EXPECT_EQ(gathered_step(graph), 2);
  const Machine machine = load_machine("h100", {"core.count=1"});
  const Measured measured = time_tiles(graph, machine);
  EXPECT_EQ(measured.nodes, 2 * 3 + 1);                   // two steps: loads, product; a store
  EXPECT_EQ(measured.flops, 2 * (2 * 16 * 24 * 2));       // the second step has room for one more
  EXPECT_EQ(measured.bytes.global_read, 3 * (64 + 128));  // whole bursts
  EXPECT_EQ(measured.bytes.l2_read, 3 * (64 + 128));
  EXPECT_EQ(compulsory_bytes(graph).loaded, 3 * (64 + 96));
  EXPECT_EQ(kernel_need(graph).scratchpad, 2 * 2 * (16 + 24) * 4 + 16 * 24 * 4);
  EXPECT_EQ(tiles_present(graph).present, 3);
  EXPECT_EQ(tiles_present(graph).all, 8);
}

/// The same on one core without an L2: port and memory pass 64 bytes a cycle, memory's latency is
/// 100; scratchpad 128 bytes a cycle, latency 10; the accumulator is complete 32 after its product.
/// Step 0 loads A by 2 (port 1 + 1) + 100 + 1 + 10 = 113 and X by 6 (port 2 + 2) + 100 + 1.5 + 10 =
/// 117.5; step 1 A by 7 + 100, when the scratchpad is busy until 107.5, + 0.5 + 10 = 118, and X by
/// 9 + 100 + 0.75 + 10 = 119.75. A product reads 320 bytes, whether there or not, and the last one
/// writes the result: 117.5 to 120 to 122.5 + 12, + 32. The store: 12 + 10, port 24, + 100 = 312.5.
TEST(GatheredKernel, WorkedTime) {
  const Machine machine = one_channel_machine(1, {"core.scratchpad_latency_cycles=10"});
  EXPECT_EQ(time_tiles(worked_graph(), machine).cycles, 313);
}

/// What several tiles of rows gather comes from the L2 after the first time.
TEST(GatheredKernel, RowsAreHeldInTheL2OneByOne) {
  const SparseProduct product{64, 70, 16, 20, 5};
  const Graph graph = *gathered(product.text(), 16, 16, 16).regions.back().graph;
  const Measured measured = time_tiles(graph, load_machine("h100", {"core.count=1"}));
  EXPECT_EQ(measured.bytes.global_read,
            compulsory_bytes(graph).loaded);  // rows of 64 bytes: whole bursts
  EXPECT_GT(measured.bytes.l2_read, measured.bytes.global_read);
  const Machine without = load_machine("h100", {"core.count=1", "l2.capacity_bytes=0"});
  EXPECT_EQ(time_tiles(graph, without).bytes.global_read, measured.bytes.l2_read);
}

/// Any size, part and packing; some rows of tiles are empty, the last step is cut.
TEST(GatheredKernel, RandomGraphsAgainstTheReference) {
  int cut = 0, empty_rows = 0, checked = 0;
  for (int seed = 1; seed <= 40; ++seed) {
    Draw draw(seed);
    const auto among = [&](int least, int most) { return draw.among(least, most); };
    const Machine machine = load_machine("h100", {"core.count=" + std::to_string(among(1, 4))});
    const SparseProduct product{among(17, 70), among(17, 70), among(1, 40), among(0, 3) * 2, seed};
    const std::string text = product.text();
    if (!sparse_of(parse(text))) continue;
    const int64_t m = among(1, 40), n = among(1, 40), packed = among(1, 40);
    const Program program = gathered(text, m, n, packed);
    const Graph& graph = *program.regions.back().graph;
    if (graph.tiles->open.empty()) continue;
    ++checked;
    expect_right_and_read_again(program, machine);

    int64_t steps = 0;
    for (const std::vector<TileRange>& list : graph.tiles->open) {
      int64_t walked = 0;
      for (const TileRange& range : list) walked += range.end - range.begin;
      steps += ceil_div(walked, packed);
      cut += walked % packed != 0 ? 1 : 0;
      empty_rows += list.empty() ? 1 : 0;
    }
    const Measured measured = time_tiles(graph, machine);
    EXPECT_EQ(measured.flops, 2 * m * n * packed * steps * kernel_tiles(graph)[kKernelN]);
    EXPECT_GE(measured.bytes.global_read, compulsory_bytes(graph).loaded);
    EXPECT_GE(measured.bytes.l2_read, measured.bytes.global_read);
    // Each row that is gathered takes a cycle of its core's port at least.
    const int64_t bytes = measured.bytes.l2_read;
    EXPECT_GE(measured.cycles * 4 * 64, bytes);
  }
  EXPECT_GT(checked, 20);
  EXPECT_GT(cut, 10);
  EXPECT_GT(empty_rows, 5);
}

TEST(GatheredKernel, AColumnThatHoldsAValueIsRefused) {
  Program program = gathered(SparseProduct{}.text(), 16, 24, 8);
  std::vector<TileRange>& list = program.regions.back().graph->tiles->open.at(1);
  ASSERT_FALSE(list.empty());
  const int64_t k = list.back().end - 1;
  if (--list.back().end == list.back().begin) list.pop_back();
  const std::string says =
      refusal([&] { run_program(program, load_tensors(program), load_machine("h100", {}), {}); });
  EXPECT_NE(says.find("leaves out tile (m 1, k " + std::to_string(k) + ", g 0) of %a"),
            std::string::npos)
      << says;
}

TEST(GatheredRules, RefusesHostileText) {
  const std::string text = print_program(gathered(SparseProduct{}.text(), 16, 24, 8));
  expect_refused(text, "capacity=8", "capacity=257", "gathers 257 rows a step, expected 1 to 256");
  expect_refused(text, "capacity=8", "capacity=-1", "expected a capacity of at least 0");
  const size_t at = text.find(" open=");
  expect_refused(text, text.substr(at, text.find('\n', at) - at), "",
                 "expected `open` to say which");
  expect_refused(text, "k: 70 block=1 size=70", "k: 35 block=2 size=70", "expected tiles of one k");
}

/// Rows of an operand that are not consecutive in memory are not gathered.
TEST(GatheredRules, WhatIsGatheredIsConsecutive) {
  const auto format = [](const SparseProduct& product, bool may_reorder) {
    const Program program = parse(product.text());
    const auto form = sparse_of(program);
    EXPECT_TRUE(form);
    const std::set<TensorId> given = may_reorder ? std::set<TensorId>{0} : std::set<TensorId>{};
    const auto found = gathered_format(program, *form, given);
    return found ? to_string(*found) : "none";
  };
  SparseProduct product;
  EXPECT_EQ(format(product, false), "dense,dense@1,0");
  product.levels = "dense,dense";
  EXPECT_EQ(format(product, false), "none");
  EXPECT_EQ(format(product, true), "dense,dense@1,0");
  product.right = "dense,dense@1,0";
  EXPECT_EQ(format(product, true), "none");

  const std::string text = print_program(gathered(SparseProduct{}.text(), 16, 24, 8));
  std::string other = text;
  other.replace(other.find("dense,dense@1,0"), 15, "dense,dense");
  const std::string says = refusal([&] { parse_program({"text", other}); });
  EXPECT_NE(says.find("%a is gathered by a dimension that its innermost level stores"),
            std::string::npos)
      << says;
}

/// Chosen where it is faster than tiles, with the operand stored by columns; never slower.
TEST(GatheredKernels, AreChosenWhereTheyAreFaster) {
  const Machine machine = load_machine("h100", {});
  const std::string text =
      "const %a: f32[1024, 1024] dense,compressed = power_law(edges=300,values=uniform(0,1),"
      "seed=7)\ninput %x: f32[1024, 64] dense,dense = dense(seed=8)\nresult %y: f32[1024, 64] "
      "dense,dense\nregion @y { %y[i, j] = sum(k) %a[i, k] * %x[k, j] }\n";
  const auto made = [&](bool reorder, std::vector<SparseKernel>& sparse) {
    Program program = parse(text);
    EXPECT_TRUE(
        make_kernels(program, machine,
                     {.store_operands_dense = true, .reorder_operands = reorder, .sparse = &sparse})
            .empty());
    expect_right(program, machine);
    return program;
  };
  std::vector<SparseKernel> tiles, rows;
  const Program as_tiles = made(false, tiles), as_rows = made(true, rows);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_GT(rows[0].gathered, 0);
  EXPECT_LT(rows[0].cycles, rows[0].dense_cycles);
  EXPECT_EQ(to_string(as_rows.tensors[0].format), "dense,dense@1,0");
  EXPECT_EQ(to_string(as_tiles.tensors[0].format), "dense,dense");
  EXPECT_EQ(gathered_step(*as_tiles.regions[0].graph), 0);
  ASSERT_EQ(tiles.size(), 1U);
  EXPECT_LT(rows[0].cycles, tiles[0].cycles);
  EXPECT_EQ(time_tiles(*as_rows.regions[0].graph, machine).cycles, rows[0].cycles);
}

/// An input that arrives by rows is copied by columns first, which takes longer than gathering
/// saves here: 1 MB is read and written, for a kernel of few cycles.
TEST(GatheredKernels, WhatTheCopyOfAnInputCostsIsCompared) {
  const Machine machine = load_machine("h100", {});
  const auto text = [](const char* role) {
    return fmt::format(
        "{} %a: f32[512, 512] dense,dense facts(finite) = power_law(edges=1500,values=uniform(0,1),"
        "seed=7)\ninput %x: f32[512, 64] dense,dense facts(finite) = dense(seed=8)\nresult %y: "
        "f32[512, 64] dense,dense\nregion @y {{ %y[i, j] = sum(k) %a[i, k] * %x[k, j] }}\n",
        role);
  };
  const auto made = [&](const char* role, bool charged) {
    Program program = parse(text(role));
    const GivenFormats given = given_formats(program);
    make_kernels(program, machine, {.reorder_operands = true, .given = charged ? &given : nullptr});
    return program;
  };
  EXPECT_GT(gathered_step(*made("input", false).regions[0].graph), 0);
  EXPECT_EQ(gathered_step(*made("input", true).regions[0].graph), 0);
  EXPECT_GT(gathered_step(*made("const", true).regions[0].graph), 0);

  // Chains are compared with that, too.
  const Program whole = parse(text("input"));
  const auto apart = [&](const GivenFormats& arrives) {
    return separate_sparse_kernels(whole, {find_tensor(whole, "y")}, machine, arrives)
        ->total.cycles;
  };
  EXPECT_EQ(apart({}), time_tiles(*made("input", false).regions[0].graph, machine).cycles);
  EXPECT_EQ(apart(given_formats(whole)),
            time_tiles(*made("input", true).regions[0].graph, machine).cycles);

  // What is stored otherwise all the same is a copy, and right.
  Program program = made("input", false);
  const GivenFormats given = given_formats(parse(text("input")));
  const std::vector<TensorId> copies = restore_given_formats(program, given);
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(to_string(program.tensors[0].format), "dense,dense");
  const Tensor& copy = program.tensors[static_cast<size_t>(copies[0])];
  EXPECT_EQ(copy.copy_of, "a");
  EXPECT_EQ(to_string(copy.format), "dense,dense@1,0");
  EXPECT_GT(conversion_cycles(program.tensors[0], copy.format, machine), 0);
  EXPECT_EQ(conversion_cycles(program.tensors[0], program.tensors[0].format, machine), 0);
  EXPECT_EQ(restore_given_formats(program, given).size(), 0U);
  add_copy_regions(program);
  EXPECT_EQ(program.regions.size(), 2U);
  expect_right(program, machine);
}

/// The program as kernels, its tensors in the order that these read; expects that each result is
/// right.
Program made_and_right(const std::string& text) {
  Program program = parse(text);
  const Machine machine = load_machine("h100", {});
  EXPECT_TRUE(make_kernels(program, machine, {.reorder_operands = true}).empty());
  verify(program);
  const ProgramRun run = run_program(program, load_tensors(program), machine, {});
  std::vector<TensorId> results;
  for (const Region& region : program.regions) results.push_back(region.statements.back().result);
  for (const auto& tensor : check_reference(program, run.data, results, {}).tensors) {
    EXPECT_TRUE(tensor.passes) << print_program(program);
  }
  return program;
}

/// One kernel gathers rows of x, another columns, and x is stored once: the order stays that saves
/// more.
TEST(GatheredKernels, ATensorIsStoredInOneOrder) {
  const std::string given =
      "const %a: f32[512, 512] dense,dense = power_law(edges=1500,values=uniform(0,1),seed=7)\n"
      "const %x: f32[512, 256] dense,dense = uniform(density=0.005,seed=8)\n"
      "const %w: f32[256, 64] dense,dense = dense(seed=9)\n";
  const std::string rows = "region @y { %y[i, j] = sum(k) %a[i, k] * %x[k, j] }\n";
  const std::string columns = "region @z { %z[i, j] = sum(k) %x[i, k] * %w[k, j] }\n";
  const std::string y = "result %y: f32[512, 256] dense,dense\n";
  const std::string z = "result %z: f32[512, 64] dense,dense\n";
  const auto gathers = [](const Program& program, size_t region) {
    return gathered_step(*program.regions[region].graph) > 0;
  };
  EXPECT_TRUE(gathers(made_and_right(given + y + rows), 0));
  const Program alone = made_and_right(given + z + columns);
  EXPECT_TRUE(gathers(alone, 0));
  EXPECT_EQ(to_string(alone.tensors[1].format), "dense,dense@1,0");
  const Program both = made_and_right(given + y + z + rows + columns);
  EXPECT_NE(gathers(both, 0), gathers(both, 1));
  EXPECT_EQ(to_string(both.tensors[1].format) == "dense,dense", gathers(both, 0));

  // What is planned already keeps its order.
  Program planned = parse(given + y + z + rows + columns);
  const Program first = made_and_right(given + y + rows);
  planned.regions[0].graph = first.regions[0].graph;
  planned.tensors[0].format = first.tensors[0].format;
  make_kernels(planned, load_machine("h100", {}), {.reorder_operands = true});
  verify(planned);
  EXPECT_FALSE(gathers(planned, 1));
}

/// Of several orders of a tensor that kernels want, the one with which all kernels, folded and
/// combined, take the fewest cycles.
TEST(GatheredKernels, TheOrderIsThatOfTheFastestProgram) {
  const Machine machine = load_machine("h100", {});
  const Program given = parse(
      "const %a: f32[512, 512] dense,dense = power_law(edges=1500,values=uniform(0,1),seed=7)\n"
      "const %x: f32[512, 256] dense,dense = uniform(density=0.005,seed=8)\n"
      "const %w: f32[256, 64] dense,dense = dense(seed=9)\n"
      "temp %t: f32[512, 256] dense,dense\nresult %y: f32[512, 64] dense,dense\n"
      "result %z: f32[512, 64] dense,dense\n"
      "region @t { %t[i, j] = sum(k) %a[i, k] * %x[k, j] }\n"
      "region @y { %y[i, j] = sum(k) %t[i, k] * %w[k, j] }\n"
      "region @z { %z[i, j] = sum(k) %x[i, k] * %w[k, j] }\n");
  std::set<int64_t> cycles;
  for (const int innermost : {0, 1}) {
    Program planned = given;
    const KernelOptions options{.reorder_operands = true, .orders = {{1, innermost}}};
    make_kernels(planned, machine, options);
    combine_kernels(planned, machine);
    cycles.insert(tiles_cycles(planned, machine));
  }
  ASSERT_EQ(cycles.size(), 2U);  // it matters
  Program chosen = given;
  plan_remaining(chosen, machine, {.reorder_operands = true});
  EXPECT_LE(tiles_cycles(chosen, machine), *cycles.begin());
  verify(chosen);
  expect_right(chosen, machine);
}

/// Products that share operands, each of which may want them in another order.
TEST(GatheredKernels, RandomProgramsOfSharedOperands) {
  const std::array<const char*, 6> products{"%a[i, k] * %a[k, j]", "%a[k, i] * %a[k, j]",
                                            "%a[i, k] * %b[k, j]", "%b[i, k] * %a[k, j]",
                                            "%b[k, i] * %a[k, j]", "%a[i, k] * %b[j, k]"};
  for (int seed = 0; seed < 12; ++seed) {
    Draw draw(seed);
    const int n = draw.among(40, 90);
    std::string tensors, regions;
    for (const char* name : {"a", "b"}) {
      tensors += fmt::format("const %{}: f32[{}, {}] dense,dense = values({})\n", name, n, n,
                             sparse_values(n * n, draw.among(1, 4), draw.among(1, 1000)));
    }
    for (int r = 0; r < 3; ++r) {
      tensors += fmt::format("result %y{}: f32[{}, {}] dense,dense\n", r, n, n);
      regions += fmt::format("region @y{} {{ %y{}[i, j] = sum(k) {} }}\n", r, r,
                             products[static_cast<size_t>(draw.among(0, 5))]);
    }
    made_and_right(tensors + regions);
  }
}

/// A region of streams that reads the operand keeps it in its order.
TEST(GatheredKernels, WhatStreamsReadKeepsItsOrder) {
  Program program = parse(
      "const %a: f32[256, 256] dense,dense = power_law(edges=300,values=uniform(0,1),seed=7)\n"
      "input %x: f32[256, 64] dense,dense = dense(seed=8)\nresult %y: f32[256, 64] dense,dense\n"
      "result %z: f32[256, 256] dense,compressed\n"
      "region @y { %y[i, j] = sum(k) %a[i, k] * %x[k, j] }\n"
      "region @z { %z[i, k] = relu(%a[i, k]) }\n");
  EXPECT_EQ(make_kernels(program, load_machine("h100", {}), {.reorder_operands = true}).size(), 1U);
  EXPECT_EQ(to_string(program.tensors[0].format), "dense,dense");
  ASSERT_TRUE(program.regions[0].graph);
  EXPECT_EQ(gathered_step(*program.regions[0].graph), 0);
}

}  // namespace
}  // namespace fuseflow::cluster
