// Online softmax: what statements are one, the worked case of ir-spec/tile_cases.md, bytes against
// those that nothing can avoid, the verifier, values against the reference over random programs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster/online/online.h"
#include "cluster_attention.h"
#include "sim/tiles/kernel.h"

namespace fuseflow::cluster {
namespace {

std::string why_no_online_form(const std::string& text) {
  const Program program = parse(text);
  std::string why;
  const StatementTable statements(program);
  EXPECT_FALSE(online_form(statements, program.regions.back().statements.back(), why)) << text;
  return why;
}

TEST(OnlineForm, AttentionOfHeads) {
  const Program program = parse(attention(3, 20, 28, 8, 12));
  const OnlineForm form = form_of(program);
  EXPECT_TRUE(form.maximum);
  EXPECT_GE(form.product, 0);
  EXPECT_EQ(form.members.size(), 7U);
  EXPECT_EQ(sizes_of(form.digits), (KernelSizes{20, 12, 28, 3}));
}

TEST(OnlineForm, WithoutAMaximumAndByAReciprocal) {
  std::string text =
      with(attention(2, 8, 8, 4, 4), "exp(%x[h, i, j] - %m[h, i])", "exp(%x[h, i, j])");
  text = with(text, "  %m[h, i] = max(j) %x[h, i, j]\n", "");
  text = with(text, "temp %m: f32[2, 8] dense,dense\n", "");
  text = with(text, "%e[h, i, j] / %z[h, i]", "%e[h, i, j] * reciprocal(%z[h, i])");
  const OnlineForm form = form_of(parse(text));
  EXPECT_FALSE(form.maximum);
  EXPECT_EQ(form.members.size(), 6U);
}

TEST(OnlineForm, WeightsThatAreRounded) {
  const OnlineForm form = form_of(parse(with(attention(2, 8, 8, 4, 4), "%e[h, i, j] / %z[h, i]",
                                             "bf16(%e[h, i, j] * reciprocal(%z[h, i]))")));
  EXPECT_EQ(form.rounded, Op::bf16);
  EXPECT_TRUE(form.by_reciprocal);
}

TEST(OnlineForm, ScoresWithoutAProduct) {
  const OnlineForm form = form_of(
      parse("input %x: f32[9, 20] dense,dense = uniform(density=1,seed=1)\n"
            "input %v: f32[20, 6] dense,dense = uniform(density=1,seed=2)\n"
            "temp %m: f32[9] dense\ntemp %e: f32[9, 20] dense,dense\ntemp %z: f32[9] dense\n"
            "temp %p: f32[9, 20] dense,dense\nresult %y: f32[9, 6] dense,dense\n"
            "region @y {\n  %m[i] = max(j) %x[i, j]\n  %e[i, j] = exp(%x[i, j] - %m[i])\n"
            "  %z[i] = sum(j) %e[i, j]\n  %p[i, j] = %e[i, j] / %z[i]\n"
            "  %y[i, c] = sum(j) %p[i, j] * %v[j, c]\n}\n"));
  EXPECT_LT(form.product, 0);
  EXPECT_EQ(sizes_of(form.digits), (KernelSizes{9, 6, 20, 1}));
}

TEST(OnlineForm, SaysWhatHasNone) {
  const std::string good = attention(2, 8, 8, 4, 4);
  const auto says = [](const std::string& text, const std::string& what) {
    const std::string why = why_no_online_form(text);
    EXPECT_NE(why.find(what), std::string::npos) << why << "\n" << text;
  };
  says(with(good, "sum(j) %e[h, i, j]", "sum(j) %x[h, i, j]"), "the sum of its softmax is not of");
  says(with(good, "max(j) %x[h, i, j]", "max(j) %s[h, i, j]"), "the largest of its softmax is not");
  says(with(good, "max(j) %x[h, i, j]", "max(j:5) %x[h, i, j]"), "is not over the loop");
  says(with(good, "sum(j) %e[h, i, j]", "sum(j) %e[h, j, i]"), "is not over the loop");
  says(with(good, "temp %p:", "result %p:"), "%p is a result");
}

TEST(OnlineForm, NothingElseMayReadWhatStaysOnTheCore) {
  std::string text = with(attention(2, 8, 8, 4, 4), "region @y {",
                          "region @w { %w[h, i] = max(j) %p[h, i, j] }\nregion @y {");
  text = with(text, "temp %p:", "result %w: f32[2, 8] dense,dense\ntemp %p:");
  EXPECT_NE(why_no_online_form(text).find("%p would be kept on chip"), std::string::npos);
}

TEST(OnlineForm, AProductOfAnythingElseIsNoSoftmax) {
  const std::string plain =
      "input %p: f32[8, 8] dense,dense = uniform(density=1,seed=1)\n"
      "input %v: f32[8, 8] dense,dense = uniform(density=1,seed=2)\n"
      "result %y: f32[8, 8] dense,dense\n"
      "region @y { %y[i, c] = sum(j) %p[i, j] * %v[j, c] }\n";
  EXPECT_EQ(why_no_online_form(plain), "");
}

TEST(Online, WorkedCase) {
  const OnlineForm form = form_of(parse(attention(1, 16, 32, 16, 16, "%s[h, i, j]")));
  const Machine machine = slow_lanes_machine(1);
  ASSERT_EQ(machine.matrix_rate(4), 1024);
  const Graph one = online_graph(form, {{16, 16, 16, 1}, 2, 1});
  const Measured measured = time_tiles(one, machine);
  EXPECT_EQ(measured.cycles, 883);
  EXPECT_EQ(measured.bytes.global_read, 1024 + 2048 + 2048);
  EXPECT_EQ(measured.bytes.global_write, 1024);
  EXPECT_EQ(measured.flops, 4 * 8192);
  const Graph two = online_graph(form, {{16, 16, 16, 1}, 2, 2});
  EXPECT_EQ(time_tiles(two, machine).cycles, 843);
  EXPECT_EQ(kernel_need(two).registers - kernel_need(one).registers,
            kernel_need(one).registers - int64_t{4} * (16 * 16 * 2 + 16 * 3));
}

/// Row 0 has no key at all: 0 / 0 as in the reference. Row 30 has none in its first blocks.
TEST(Online, RowsThatAreWhollyMaskedAreWhatTheReferenceSays) {
  const std::string text =
      attention(2, 32, 36, 8, 8, "where(%kj[j] < %qi[i], %s[h, i, j], -inf)", positions(32, 36));
  expect_attention_right(planned(text, {{8, 8, 8, 1}, 2, 2}));
  const std::string later =
      attention(2, 32, 36, 8, 8, "where(%qi[i] < %kj[j], %s[h, i, j], -inf)", positions(32, 36));
  expect_attention_right(planned(later, {{8, 8, 8, 1}, 2, 1}));
}

TEST(Online, RandomShapesMasksAndTiles) {
  uint64_t state = 20;
  const auto draw = [&](int from, int to) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return from + static_cast<int>((state >> 33) % static_cast<uint64_t>(to - from + 1));
  };
  const std::vector<std::pair<std::string, std::string>> kinds = {
      {"%s[h, i, j]", ""},
      {"%s[h, i, j] * 0.25", ""},
      {"%s[h, i, j] * 100", ""},
      {"%s[h, i, j] + %bias[h, i, j]", "bias"},
      {"where(%mask[i, j], %s[h, i, j] / 3, -inf)", "mask"},
      {"%s[h, i, j] + where(%keys[j], 0, -inf)", "keys"},
      {"where(%mask[i, j], -10000, %s[h, i, j]) + %keys[j]", "both"},
  };
  for (int trial = 0; trial < 40; ++trial) {
    const int heads = draw(1, 3), rows = draw(1, 40), keys = draw(1, 50);
    const auto& [scores, needs] =
        kinds[static_cast<size_t>(draw(0, static_cast<int>(kinds.size()) - 1))];
    const auto data = [&](const std::string& name, const std::string& shape,
                          const std::string& levels) {
      return fmt::format("input %{}: f32[{}] {} = uniform(density=0.5,seed={})\n", name, shape,
                         levels, trial + 9);
    };
    std::string more;
    const std::string r = std::to_string(rows), k = std::to_string(keys);
    if (needs == "bias")
      more += data("bias", fmt::format("{}, {}, {}", heads, r, k), "dense,dense,dense");
    if (needs == "mask" || needs == "both")
      more += data("mask", fmt::format("{}, {}", r, k), "dense,compressed");
    if (needs == "keys" || needs == "both") more += data("keys", k, "dense");
    const int values = draw(1, 20);
    const OnlineTiles tiles{{draw(1, rows), draw(1, values), draw(1, keys), 1},
                            draw(1, 3),
                            draw(1, 2),
                            1 << draw(0, 3)};
    SCOPED_TRACE(trial);
    expect_attention_right(
        planned(attention(heads, rows, keys, draw(1, 20), values, scores, more), tiles));
    if (HasFailure()) return;
  }
}

/// Weights are rounded as the statements say: in the one step of all keys, or in a second walk.
TEST(Online, RoundedWeightsAreThoseOfTheStatements) {
  const auto rounded = [](const std::string& weights, bool largest) {
    const std::string text = with(attention(2, 40, 50, 8, 12), "%e[h, i, j] / %z[h, i]", weights);
    if (largest) return text;
    return with(with(with(text, "exp(%x[h, i, j] - %m[h, i])", "exp(%x[h, i, j])"),
                     "  %m[h, i] = max(j) %x[h, i, j]\n", ""),
                "temp %m: f32[2, 40] dense,dense\n", "");
  };
  for (const std::string weights :
       {"f16(%e[h, i, j] / %z[h, i])", "bf16(%e[h, i, j] * reciprocal(%z[h, i]))"}) {
    for (const bool largest : {true, false}) {
      for (const int keys : {50, 25, 16, 7}) {
        for (const int cores : {1, 4}) {
          SCOPED_TRACE(fmt::format("{}, largest {}, {} keys a step, {} cores", weights, largest,
                                   keys, cores));
          expect_attention_right(
              planned(rounded(weights, largest), {{8, 12, keys, 1}, 2, 1 + keys % 2, cores}));
        }
      }
    }
  }
}

/// The keys are loaded for both walks, the values for the second; what the first needs of a step is
/// computed twice.
TEST(Online, ASecondWalkDoesWhatBothNeedTwice) {
  const std::string plain = attention(1, 16, 64, 16, 16, "%s[h, i, j]");
  const Machine machine = load_machine("h100", {});
  const auto measured = [&](const std::string& text, int64_t keys) {
    return time_tiles(*planned(text, {{16, 16, keys, 1}, 2, 1}).regions.back().graph, machine);
  };
  const std::string rounded = with(plain, "%e[h, i, j] / %z[h, i]", "f16(%e[h, i, j] / %z[h, i])");
  const int64_t product = int64_t{2} * 16 * 64 * 16;
  EXPECT_EQ(measured(plain, 16).flops, 2 * product);
  EXPECT_EQ(measured(rounded, 16).flops, 3 * product);
  EXPECT_EQ(measured(rounded, 64).flops, 2 * product);  // one step
  EXPECT_EQ(measured(rounded, 16).bytes.l2_read - measured(plain, 16).bytes.l2_read, 4 * 64 * 16);
}

TEST(Online, TakenWhereItIsFaster) {
  Program program = parse(attention(4, 64, 64, 32, 32));
  const Machine machine = load_machine("h100", {});
  const std::vector<OnlineOutcome> outcomes = plan_online(program, machine, {});
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_EQ(outcomes[0].kind, OnlineOutcome::Kind::taken);
  EXPECT_LT(outcomes[0].fused.cycles, outcomes[0].apart.total.cycles);
  EXPECT_EQ(outcomes[0].apart.kernels, 6);  // the scores' scale is folded
  ASSERT_EQ(program.regions.size(), 1U);
  EXPECT_EQ(time_tiles(*program.regions[0].graph, machine).cycles, outcomes[0].fused.cycles);
  EXPECT_TRUE(plan_online(program, machine, {}).empty());  // it has its graph
}

TEST(Online, LeftWhereNoTilesFit) {
  Program program = parse(attention(1, 64, 64, 32, 32));
  const std::string before = print_program(program);
  Machine tiny = load_machine("h100", {});
  tiny.core.register_bytes = 1024;
  const std::vector<OnlineOutcome> outcomes = plan_online(program, tiny, {});
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_EQ(outcomes[0].kind, OnlineOutcome::Kind::refused);
  EXPECT_EQ(print_program(program), before);
}

TEST(Online, OfEveryMachineThatPlansItTheTilesFit) {
  const OnlineForm form = form_of(parse(attention(2, 100, 300, 64, 64)));
  for (const int64_t registers : {16384, 65536, 262144}) {
    Machine machine = load_machine("h100", {});
    machine.core.register_bytes = registers;
    const auto plan = fastest_online(form, machine);
    ASSERT_TRUE(plan);
    EXPECT_LE(kernel_need(plan->graph).registers, registers);
    EXPECT_LE(kernel_need(plan->graph).scratchpad, machine.core.scratchpad_bytes);
  }
}

TEST(OnlineRules, RefusesWhatIsNoKernel) {
  const std::string text =
      print_program(planned(attention(2, 20, 36, 8, 8), {{16, 8, 16, 1}, 2, 1}));
  const auto refused = [&](const std::string& from, const std::string& to,
                           const std::string& message) { expect_refused(text, from, to, message); };
  refused("reduce sum ($p, $f)", "reduce sum ($p)", "expected a factor");
  refused("reduce sum ($p, $f)", "reduce sum ($v, $f)", "depends on no other reduction");
  refused("reduce sum ($p, $f)", "reduce max ($p, $f)", "is rescaled, expected a sum");
  refused("reduce sum ($p, $f)", "reduce sum ($p, 0.5)", "expected a stream");
  refused("tile_multiply ($p, $x_2, $f)", "tile_multiply ($p, $x_2)", "expected a factor");
  refused("map div ($o, $sum)", "map div ($o, $f)", "takes tiles over k");
  refused("map div ($o, $sum)", "map div ($o, $before)", "takes tiles over k");
  refused("reduce max (", "reduce mean (", "reads a mean before the last step");
  refused("tile_multiply ($x, $x_1) capacity=1", "tile_multiply ($x, $x_1)", "capacity");
  refused("index l: 1 block=8", "index l: 2 block=4", "index l: expected one tile");
  refused("tiles [] bytes=4", "tiles [] bytes=4 band=[3, 0]", "a band is from the least");
  refused("tiles [] bytes=4", "tiles [] bytes=4 band=[0, 3] open=[0:1; 0:1; 0:1]",
          "`open` says what `band` would");
  refused("tiles [] bytes=4", "tiles [] bytes=4 open=[0:1]", "`open` has 1 lists");
}

TEST(OnlineRules, RefusesWhatIsNoSecondWalk) {
  const std::string text = print_program(planned(
      with(attention(2, 20, 36, 8, 8), "%e[h, i, j] / %z[h, i]", "f16(%e[h, i, j] / %z[h, i])"),
      {{16, 8, 16, 1}, 2, 1}));
  const auto refused = [&](const std::string& from, const std::string& to,
                           const std::string& message) { expect_refused(text, from, to, message); };
  refused("tile_hold ($sum)", "tile_hold ($f)", "expected the tiles (m) that a reduce gives");
  refused("tile_hold ($max)", "tile_hold ($before)", "expected the tiles (m) that a reduce gives");
  refused("map sub ($v, $m)", "map sub ($v, $max)", "expected a tile_hold of it");
  refused("map div ($p_1, $z)", "map div ($p_1, $sum)", "expected a tile_hold of it");
  refused("index k: 3 block=16 size=36 cluster=1", "index k: 3 block=16 size=36 cluster=2",
          "index k is spread over a cluster");
}

/// Only keys up to the query's own: what lies beyond adds nothing, and need not be walked.
TEST(Online, ABandOfStepsGivesTheSameInFewerSteps) {
  const std::string text =
      attention(2, 40, 40, 8, 8, "where(%qi[i] < %kj[j], -inf, %s[h, i, j])", positions(40, 40));
  const Machine machine = load_machine("h100", {"core.count=1"});
  Program program = planned(text, {{16, 8, 8, 1}, 2, 1});
  const Measured whole = time_tiles(*program.regions.back().graph, machine);
  program.regions.back().graph->tiles->band = {-39, 0};  // as open_band finds, below
  expect_attention_right(program);
  const Measured part = time_tiles(*program.regions.back().graph, machine);
  // Of 5 blocks of keys the first 16 rows see 2, the next 4, the last 8 rows all 5.
  EXPECT_EQ(part.flops * 15, whole.flops * (2 + 4 + 5));
  EXPECT_LT(part.cycles, whole.cycles);
}

/// Of 5 blocks of keys the first 16 rows see those up to key 17, the next from 14 to 33, the last
/// 8 rows from 30 on.
TEST(Online, ABandOnBothSidesOfARowLeavesItsFirstStepsOut) {
  Program program =
      planned(attention(2, 40, 40, 8, 8, "where(abs(%kj[j] - %qi[i]) <= 2, %s[h, i, j], -inf)",
                        positions(40, 40)),
              {{16, 8, 8, 1}, 2, 1});
  Graph& graph = *program.regions.back().graph;
  graph.tiles->band = {-2, 2};
  expect_attention_right(program);
  EXPECT_EQ(kernel_walk(graph, 0, 0), (std::vector<TileRange>{{0, 3}}));
  EXPECT_EQ(kernel_walk(graph, 1, 0), (std::vector<TileRange>{{1, 5}}));
  EXPECT_EQ(kernel_walk(graph, 2, 1), (std::vector<TileRange>{{3, 5}}));
}

std::optional<std::array<int64_t, 2>> band_of(const std::string& text) {
  const Program program = parse(text);
  const auto scores = open_scores(program, form_of(program));
  return scores ? scores->band() : std::nullopt;
}

TEST(OnlineBand, OfMasksThatAreData) {
  std::string more = positions(8, 10);
  for (const char* name : {"input %qi", "input %kj"}) {
    more = with(more, name, "const" + std::string(name).substr(5));
  }
  const auto program = [&](const std::string& scores) {
    return with(
        with(attention(2, 8, 10, 4, 4, scores, more), "temp %x: f32[2, 8, 10] dense,dense,dense",
             "temp %x: f32[2, 8, 10] dense,dense,dense facts(below_inf)"),
        "dense,dense,dense = uniform(density=1,seed=3)",
        "dense,dense,dense facts(finite) = uniform(density=1,seed=3)");
  };
  using Band = std::array<int64_t, 2>;
  const std::string causal = program("where(%kj[j] > %qi[i], -inf, %s[h, i, j])");
  EXPECT_EQ(band_of(causal), (Band{-7, 0}));
  EXPECT_EQ(band_of(program("%s[h, i, j] + where(%kj[j] > %qi[i] + 1, -inf, 0)")), (Band{-7, 1}));
  EXPECT_EQ(band_of(program("where(abs(%kj[j] - %qi[i]) <= 2, %s[h, i, j], -inf)")), (Band{-2, 2}));
  // A number is no -inf; one row that sees all keeps all.
  EXPECT_EQ(band_of(program("where(%kj[j] > %qi[i], -10000, %s[h, i, j])")), std::nullopt);
  EXPECT_EQ(band_of(program("where(%qi[i] * %kj[j] == 7, -inf, %s[h, i, j])")), std::nullopt);
  // Values that may be infinite, scores that may be NaN, a mask that is an input.
  EXPECT_EQ(band_of(with(causal, "facts(finite) ", "")), std::nullopt);
  EXPECT_EQ(band_of(with(causal, " facts(below_inf)", "")), std::nullopt);
  EXPECT_EQ(band_of(with(causal, "const %qi", "input %qi")), std::nullopt);
  Program planned = parse(causal);
  ASSERT_EQ(plan_online(planned, load_machine("h100", {}), {}).size(), 1U);
  EXPECT_EQ(planned.regions.back().graph->tiles->band, (Band{-7, 0}));
  expect_attention_right(planned);
}

/// What random blocks of keys hide is neither loaded nor multiplied, whatever the blocks of the
/// mask and of the tiles.
TEST(OnlineOpen, RandomBlocksGiveTheSameInFewerSteps) {
  const Machine machine = load_machine("h100", {"core.count=12"});
  int holes = 0;
  for (int seed = 1; seed <= 12; ++seed) {
    const std::string mask = "bigbird(block=" + std::to_string(3 + seed % 6) +
                             ",random=1,values=ones,seed=" + std::to_string(seed) + ")";
    const int size = 40 + 7 * (seed % 3);
    const std::string text = masked(2, size, size, mask);
    const OnlineTiles tiles{{8 + 4 * (seed % 2), 8, 4 + seed % 5, 1}, 2, 1, 1 << (seed % 3)};
    Program program = with_steps_left_out(text, tiles);
    const Graph& graph = *program.regions.back().graph;
    holes += graph.tiles->open.empty() ? 0 : 1;
    expect_attention_right(program);
    const Graph dense = *planned(text, tiles).regions.back().graph;
    const Measured part = time_tiles(graph, machine), whole = time_tiles(dense, machine);
    EXPECT_LE(part.flops, whole.flops);
    EXPECT_LE(part.bytes.global(), whole.bytes.global());
    // It is the same text.
    const std::string printed = print_program(program);
    EXPECT_EQ(print_program(parse_program({"printed", printed})), printed);
  }
  EXPECT_GT(holes, 6);
}

TEST(OnlineOpen, TilesOfScores) {
  // Row 0 sees column 0, row 3 sees columns 4 and 5, no other row sees any.
  const std::vector<size_t> first{0, 1, 1, 1, 2};
  const std::vector<PresentElements::Stretch> open{{0, 1}, {4, 6}};
  const OpenScores scores{PresentElements(1, 4, 6, first, open)};
  EXPECT_EQ(scores.tiles(1, 2), (Walks{{{0, 1}}, {{0, 1}}, {{0, 1}}, {{2, 3}}}));
  EXPECT_EQ(scores.tiles(4, 2), (Walks{{{0, 1}, {2, 3}}}));
  EXPECT_EQ(scores.tiles(3, 4), (Walks{{{0, 1}}, {{1, 2}}}));
  // Two heads of these rows: tiles of three rows cut through both.
  const OpenScores heads{PresentElements(1, 4, 6, first, open, 2), 2};
  EXPECT_EQ(heads.tiles(2, 2), (Walks{{{0, 1}}, {{2, 3}}, {{0, 1}}, {{2, 3}}}));
  EXPECT_EQ(heads.tiles(3, 2), (Walks{{{0, 1}}, {{0, 1}, {2, 3}}, {{2, 3}}}));
  EXPECT_EQ(heads.band(), std::nullopt);
}

/// Row 0 sees the last column alone, the other rows see the first one.
TEST(OnlineOpen, TheFirstRowAndTheFirstColumnAreInTheMask) {
  const Program program = parse(masked(2, 3, 4, "values(0, 0, 0, 1, 1, 0, 1, 0, 1, 0, 0, 0)"));
  const auto scores = open_scores(program, form_of(program));
  ASSERT_NE(scores, nullptr);
  EXPECT_EQ(scores->tiles(1, 1), (Walks{{{3, 4}}, {{0, 1}, {2, 3}}, {{0, 1}}}));
}

/// Queries of `r` heads that share keys are rows, head by head; each sees keys up to its place.
TEST(OnlineOpen, GroupedQueriesUnderACausalMask) {
  const std::string square = "f32[2, 3, 8, 8] dense,dense,dense,dense";
  const std::string row = "f32[2, 3, 8] dense,dense,dense";
  const std::string given = " facts(finite) = uniform(density=1,seed=";
  const std::string text =
      "const %qi: f32[8] dense = arange()\nconst %kj: f32[8] dense = arange()\n"
      "input %q: f32[2, 3, 8, 4] dense,dense,dense,dense" +
      given +
      "1)\n"
      "input %k: f32[2, 8, 4] dense,dense,dense" +
      given +
      "2)\n"
      "input %v: f32[2, 8, 4] dense,dense,dense" +
      given +
      "3)\n"
      "temp %s: " +
      square + "\ntemp %x: " + square + " facts(below_inf)\ntemp %m: " + row +
      "\ntemp %e: " + square + "\ntemp %z: " + row + "\ntemp %p: " + square +
      "\nresult %y: f32[2, 3, 8, 4] dense,dense,dense,dense\n"
      "region @s {\n  %s[g, r, i, j] = sum(d) %q[g, r, i, d] * %k[g, j, d]\n"
      "  %x[g, r, i, j] = where(%kj[j] > %qi[i], -inf, %s[g, r, i, j])\n}\n"
      "region @soft {\n  %m[g, r, i] = max(j) %x[g, r, i, j]\n"
      "  %e[g, r, i, j] = exp(%x[g, r, i, j] - %m[g, r, i])\n"
      "  %z[g, r, i] = sum(j) %e[g, r, i, j]\n"
      "  %p[g, r, i, j] = %e[g, r, i, j] / %z[g, r, i]\n}\n"
      "region @y { %y[g, r, i, c] = sum(j) %p[g, r, i, j] * %v[g, j, c] }\n";
  const Program program = with_steps_left_out(text, {{4, 4, 2, 1}, 2, 1});
  const Graph& graph = *program.regions.back().graph;
  const std::vector<TileRange> first{{0, 2}}, second{{0, 4}};
  EXPECT_EQ(graph.tiles->open, (std::vector{first, second, first, second, first, second}));
  expect_attention_right(program);
  expect_attention_right(with_steps_left_out(text, {{3, 4, 2, 1}, 2, 1, 2}));
}

/// A tile that is left out and is seen makes the result wrong, and the check says so.
TEST(OnlineOpen, ALackingTileIsFound) {
  const std::string text = masked(1, 32, 32, "bigbird(block=4,random=1,values=ones,seed=5)");
  Program program = with_steps_left_out(text, {{8, 8, 4, 1}, 2, 1});
  std::vector<std::vector<TileRange>>& open = program.regions.back().graph->tiles->open;
  ASSERT_FALSE(open.empty());
  ASSERT_GT(open[1].size(), 1U);
  open[1].pop_back();
  const ProgramRun run = run_program(program, load_tensors(program), load_machine("h100", {}), {});
  const auto checked = check_reference(program, run.data, {find_tensor(program, "y")}, {});
  EXPECT_FALSE(checked.tensors.at(0).passes);
}

}  // namespace
}  // namespace fuseflow::cluster
