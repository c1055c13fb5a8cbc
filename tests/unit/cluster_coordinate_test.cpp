// Coordinates in kernels of tiles: the worked case of ir-spec/tile_cases.md, concatenations and
// masks of random shapes and tiles against the reference, the verifier.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster/common/attach_plan.h"
#include "cluster/common/statement_table.h"
#include "cluster/kernels/form.h"
#include "cluster/kernels/second_product_form.h"
#include "cluster/online/online.h"
#include "cluster_program.h"
#include "graph/tile_kernel.h"
#include "machine/load.h"
#include "sim/tiles/kernel_counts.h"
#include "sim/tiles/timing.h"

namespace fuseflow::cluster {
namespace {

/// The program with its last statement as a kernel of these tiles.
Program with_block(const std::string& text, const KernelSizes& block) {
  Program program = parse(text);
  const KernelForm form = kernel_form_of(program);
  EXPECT_TRUE(attach_plan(program, {form.result}, {}, kernel_graph(form, block, 2)));
  return program;
}

TEST(Coordinate, WorkedCase) {
  const Machine machine = one_channel_machine(
      1, {"core.scratchpad_latency_cycles=10", "core.vector_operations_per_cycle=16",
          "core.special_operations_per_cycle=2", "core.comparison_rate_share=1"});
  const std::string text =
      "input %x: f32[2, 64] dense,dense = uniform(density=1,seed=1)\n"
      "result %y: f32[2, 64] dense,dense\n"
      "region @y { %y[i, j] = %x[i, j] + coordinate(j) }\n";
  const Program program = with_block(text, {1, 64, 1, 1});
  const Measured measured = time_tiles(*program.regions[0].graph, machine);
  EXPECT_EQ(measured.cycles, 244);
  EXPECT_EQ(measured.bytes.global_read, 512);
  expect_right_and_read_again(program, machine);
}

/// A coordinate alone needs no load.
TEST(Coordinate, OfAResultWithoutOperands) {
  const std::string text =
      "result %y: f32[3, 5, 7] dense,dense,dense\n"
      "region @y { %y[h, i, j] = where(coordinate(j) <= coordinate(i) + 2 * coordinate(h), 0, "
      "-inf) }\n";
  expect_right_and_read_again(with_block(text, {2, 3, 1, 1}), load_machine("h100", {}));
}

/// A sum after a reduction may read the coordinate that its steps read.
TEST(Coordinate, BeforeAndAfterAReduction) {
  const std::string text =
      "input %x: f32[6, 9] dense,dense = uniform(density=1,seed=1)\n"
      "result %y: f32[6] dense\n"
      "region @y { %y[i] = coordinate(i) + sum(j) (%x[i, j] * (coordinate(i) - coordinate(j))) "
      "}\n";
  const Program program = with_block(text, {4, 1, 2, 1});
  expect_right_and_read_again(program, load_machine("h100", {}));
}

/// `values` of one statement over heads, rows and columns, of %a and %b of other widths.
struct Case {
  const char* index;   ///< of the result, a letter each
  const char* values;  ///< {0}: columns of %a, {1}: rows of %a
};
constexpr std::array<Case, 7> kCases{
    Case{"hij", "where(coordinate(j) < {0}, %a[h, i, j], %b[h, i, j - {0}])"},
    Case{"hij", "where(coordinate(j) >= {0}, %b[h, i, j - {0}], neg(%a[h, i, j]))"},
    Case{"ihj", "where(coordinate(i) < {1}, %a[h, i, j], %b[h, i - {1}, j])"},
    Case{"hij", "where(coordinate(i) <= coordinate(h) + 1, %a[h, i + 1, j - 1], 2)"},
    Case{"hi", "sum(j:{0}) (%a[h, i, j] * coordinate(j))"},
    Case{"hi", "sum(j:{0}) where(coordinate(j) <= coordinate(i), %a[h, i, j], coordinate(h))"},
    Case{"ij", "max(h) (%a[h, i, j] - coordinate(h) * coordinate(j))"}};

TEST(Coordinate, RandomShapesAndTiles) {
  const Machine machine = load_machine("h100", {});
  for (int trial = 0; trial < 70; ++trial) {
    Draw draw(trial);
    const Case& made = kCases[static_cast<size_t>(trial) % kCases.size()];
    const int rows = draw.among(1, 12), columns = draw.among(1, 24);
    const std::map<char, int> extents{{'h', 3}, {'i', draw.among(1, 20)}, {'j', draw.among(1, 40)}};
    std::string shape, levels, index;
    for (const char* at = made.index; *at != 0; ++at) {
      if (extents.count(*at) == 0) continue;
      index += fmt::format("{}{}:{}", index.empty() ? "" : ", ", *at, extents.at(*at));
      shape += (shape.empty() ? "" : ", ") + std::to_string(extents.at(*at));
      levels += levels.empty() ? "dense" : ",dense";
    }
    const std::string text = fmt::format(
        "input %a: f32[3, {1}, {0}] dense,dense,dense = uniform(density=1,seed={2})\n"
        "input %b: f32[3, 9, 17] dense,dense,dense fill(5) = uniform(density=1,seed=3)\n"
        "result %y: f32[{3}] {4}\n"
        "region @y {{ %y[{5}] = {6} }}\n",
        columns, rows, trial + 1, shape, levels, index,
        fmt::format(fmt::runtime(made.values), columns, rows));
    SCOPED_TRACE(text);
    const KernelSizes size = sizes_of(kernel_form_of(parse(text)));
    const auto some = [&](KernelDim dim) {
      return draw.among(1, static_cast<int>(std::min<int64_t>(size[dim], 24)));
    };
    const KernelSizes block{some(kKernelM), some(kKernelN), some(kKernelK), 1};
    expect_right_and_read_again(with_block(text, block), machine);
    if (testing::Test::HasFailure()) return;
  }
}

/// The mask of an attention may be made of coordinates; steps without an open score are left out.
TEST(Coordinate, MasksAnAttention) {
  const std::string text =
      "input %q: f32[20, 8] dense,dense facts(finite) = uniform(density=1,seed=1)\n"
      "input %k: f32[28, 8] dense,dense facts(finite) = uniform(density=1,seed=2)\n"
      "input %v: f32[28, 12] dense,dense facts(finite) = uniform(density=1,seed=3)\n"
      "temp %s: f32[20, 28] dense,dense facts(below_inf)\ntemp %m: f32[20] dense\n"
      "temp %e: f32[20, 28] dense,dense\ntemp %z: f32[20] dense\n"
      "temp %p: f32[20, 28] dense,dense\nresult %y: f32[20, 12] dense,dense\n"
      "region @s { %s[i, j] = where(coordinate(j) <= coordinate(i), sum(d) %q[i, d] * %k[j, d], "
      "-inf) }\n"
      "region @soft {\n  %m[i] = max(j) %s[i, j]\n  %e[i, j] = exp(%s[i, j] - %m[i])\n"
      "  %z[i] = sum(j) %e[i, j]\n  %p[i, j] = %e[i, j] / %z[i]\n}\n"
      "region @y { %y[i, c] = sum(j) %p[i, j] * %v[j, c] }\n";
  Program program = parse(text);
  const Machine machine = load_machine("h100", {});
  const std::vector<OnlineOutcome> outcomes = plan_online(program, machine, {});
  ASSERT_EQ(outcomes.size(), 1U);
  ASSERT_EQ(outcomes[0].kind, OnlineOutcome::Kind::taken) << outcomes[0].why;
  ASSERT_EQ(program.regions.size(), 1U);
  EXPECT_EQ(program.regions[0].graph->tiles->band, (std::array<int64_t, 2>{-19, 0}));
  expect_right_and_read_again(program, machine);
}

/// On a cluster that sums a product after a sparse one each core has a share of the rows: of their
/// coordinates, too, which are not those before the sum.
TEST(Coordinate, OfSharesOfRows) {
  const std::string text =
      "const %a: f32[40, 48] dense,dense = values(" + sparse_values(40 * 48, 4, 3) +
      ")\ninput %x: f32[48, 16] dense,dense facts(finite) = uniform(density=1,seed=2)\n"
      "const %w: f32[16, 8] dense,dense = uniform(density=1,seed=3)\n"
      "temp %c: f32[40, 16] dense,dense\ntemp %d: f32[40, 16] dense,dense\n"
      "temp %e: f32[40, 8] dense,dense\nresult %y: f32[40, 8] dense,dense\n"
      "region @c { %c[i, j] = sum(k) %a[i, k] * %x[k, j] }\n"
      "region @d { %d[i, j] = where(coordinate(j) < 10, %c[i, j], coordinate(i) * %c[i, j]) }\n"
      "region @e { %e[i, l] = sum(j) %d[i, j] * %w[j, l] }\n"
      "region @y { %y[i, l] = where(coordinate(i) < 30, %e[i, l], coordinate(l) - coordinate(i)) "
      "}\n";
  Program program = parse(text);
  std::vector<TensorId> members;
  for (const char* name : {"c", "d", "e", "y"}) members.push_back(find_tensor(program, name));
  std::string why;
  std::optional<KernelForm> form;
  {
    const StatementTable statements(program);
    form = second_product_form(statements, program.regions.back().statements.back(),
                               {members.begin(), members.end()}, why);
  }
  ASSERT_TRUE(form) << why;
  ASSERT_TRUE(attach_plan(program, members, {}, kernel_graph(*form, {16, 4, 8, 1}, 2), true));
  ASSERT_EQ(column_cores(*program.regions[0].graph), 4);
  expect_right_and_read_again(program, load_machine("h100", {}));
  expect_refused(print_program(program), "map sub ($at_3, $at_2)", "map sub ($at_3, $at_1)",
                 "beside a share of rows");
}

TEST(CoordinateRules, RefusesWhatIsNone) {
  const std::string text =
      print_program(with_block("input %x: f32[20, 36] dense,dense = uniform(density=1,seed=1)\n"
                               "input %r: f32[36] dense = uniform(density=1,seed=2)\n"
                               "result %y: f32[20, 36] dense,dense\n"
                               "region @y { %y[i, j] = %x[i, j] + %r[j] * coordinate(j) }\n",
                               {16, 16, 1, 1}));
  const auto refused = [&](const std::string& from, const std::string& to,
                           const std::string& message) { expect_refused(text, from, to, message); };
  ASSERT_NE(text.find("tile_coordinate [j]"), std::string::npos) << text;
  refused("tile_coordinate [j]", "tile_coordinate [j, i]", "has 2 subscripts");
  refused("tile_coordinate [j]", "tile_coordinate []", "has 0 subscripts");
  refused("tile_coordinate [j]", "tile_coordinate [z]", "unknown digit");
  refused("tile_coordinate [j]", "tile_coordinate [i]", "a dimension that its tiles do not have");
  refused("tile_coordinate [j]", "tile_coordinate [j] ($x)", "takes 1 inputs, expected 0");
  refused("tile_coordinate [j]", "coordinate ($x)", "is not allowed in a kernel of tiles");
}

/// What a step makes is not there after it.
TEST(CoordinateRules, RefusesOneOfAStepAfterTheSteps) {
  std::string text = print_program(
      with_block("input %x: f32[20, 36] dense,dense = uniform(density=1,seed=1)\n"
                 "result %y: f32[20] dense\n"
                 "region @y { %y[i] = coordinate(i) + sum(j) (%x[i, j] * coordinate(i)) }\n",
                 {16, 1, 16, 1}));
  expect_refused(text, "map add ($at_1, ", "map add ($at, ", "which the reduction ends");
}

TEST(CoordinateRules, RefusedWithoutALineOfTiles) {
  const std::string says = refusal([] {
    parse(
        "input %x: f32[4, 4] dense,dense = arange()\nresult %y: f32[4] dense\n"
        "region @y {\n  %y[i] = coordinate(i)\n  graph {\n    index i: 4\n    phase {\n"
        "      $c: val<i> = tile_coordinate [0]\n    }\n  }\n}\n");
  });
  EXPECT_NE(says.find("tile nodes need a line of tiles"), std::string::npos) << says;
}

}  // namespace
}  // namespace fuseflow::cluster
