// Products of elements of one and of four bytes on the chip: what is summed is consecutive; of one
// byte 32 at a time.
#include "chip/copies.h"
#include "chip/needs.h"
#include "cluster/chain/chain.h"
#include "cluster/chain/even_tiles.h"
#include "cluster/chain/recognize.h"
#include "cluster/kernels/form.h"
#include "cluster/kernels/kernels.h"
#include "cluster_program.h"
#include "machine/load.h"

namespace fuseflow::cluster {
namespace {

/// A matrix of 64 x 96 as an operand, by itself: rows and columns as they are, or turned.
chip::Copies copies_of(int64_t bytes, chip::Side side, bool turned) {
  chip::Operand operand;
  operand.shape = turned ? std::vector<int64_t>{96, 64} : std::vector<int64_t>{64, 96};
  operand.element_bytes = bytes;
  operand.side = side;
  operand.digits = {64, 96};
  operand.subscripts = {{{{turned ? 1 : 0, 1}}, 0}, {{{turned ? 0 : 1, 1}}, 0}};
  operand.rows = {0};
  operand.columns = {1};
  return chip::copies_of(operand);
}

TEST(BytesOnChip, WhatIsSummedIsConsecutive) {
  using chip::Side;
  for (const bool turned : {false, true}) {
    for (const Side side : {Side::left, Side::right}) {
      const chip::Copies halves = copies_of(2, side, turned);
      EXPECT_TRUE(halves.view);  // either way
      EXPECT_EQ(halves.by_rows, !turned);
      for (const int64_t bytes : {1, 4}) {
        const chip::Copies others = copies_of(bytes, side, turned);
        EXPECT_EQ(others.view.has_value(), turned == (side == Side::right));
        EXPECT_EQ(others.by_rows, side == Side::left);  // gathered so, too
      }
    }
  }
}

std::string product_text(const std::string& x, const std::string& w, bool turned) {
  return "input %x: " + x + "[32, 64] dense,dense = dense(seed=1)\nconst %w: " + w +
         (turned ? "[48, 64]" : "[64, 48]") +
         " dense,dense = dense(seed=2)\nresult %y: f32[32, 48] dense,dense\n"
         "region @y { %y[i, j] = sum(k) %x[i, k] * %w" +
         (turned ? "[j, k]" : "[k, j]") + " }\n";
}

/// Whether threads bring the weights of a product.
bool weights_by_threads(const std::string& x, const std::string& w, bool turned) {
  const Program program = parse(product_text(x, w, turned));
  std::string why;
  const auto form = kernel_form(program, program.regions.back().statements.back(), {}, why);
  EXPECT_TRUE(form) << why;
  for (const Node& node : kernel_graph(*form, {16, 48, 32, 1}, 2).nodes) {
    if (node.tensor == find_tensor(program, "w")) return node.tile.by_threads;
  }
  return false;
}

TEST(BytesOnChip, PlannersSayWhatThreadsGather) {
  EXPECT_TRUE(weights_by_threads("f8e4m3", "f8e5m2", false));
  EXPECT_FALSE(weights_by_threads("f8e4m3", "f8e5m2", true));
  EXPECT_FALSE(weights_by_threads("f16", "f16", false));
  EXPECT_FALSE(weights_by_threads("f16", "i8", false));  // no kernel is generated
  EXPECT_TRUE(weights_by_threads("f32", "f32", false));
  EXPECT_FALSE(weights_by_threads("f32", "f32", true));
  EXPECT_FALSE(weights_by_threads("f64", "f64", false));  // no kernel is generated
}

TEST(BytesOnChip, StepsOfASumAreOf32) {
  const Machine machine = load_machine("h100", {});
  chip::ChainNumbers numbers;
  numbers.tile.value = {16, 32, 32, 16};
  numbers.a_bytes = numbers.b_bytes = numbers.c_bytes = numbers.d_bytes = 1;
  const auto why = [&] {
    return chip::why_not(chip::chain_needs(numbers), *chip::chip_of(machine));
  };
  EXPECT_EQ(why(), "");
  numbers.tile[Dim::n] = 16;
  EXPECT_NE(why().find("steps of 16"), std::string::npos) << why();
  numbers.tile.value = {16, 32, 16, 16};
  EXPECT_NE(why().find("steps of 16"), std::string::npos) << why();
  numbers.a_bytes = numbers.b_bytes = numbers.c_bytes = numbers.d_bytes = 2;
  EXPECT_EQ(why(), "");

  Chain chain = gemm_chain(16, 48, 16, 16, Activation::relu);
  EXPECT_EQ(padded(chain).size.value, (std::array<int64_t, 4>{16, 48, 16, 16}));
  chain.bytes = ElementBytes::of(1);
  EXPECT_EQ(padded(chain).size.value, (std::array<int64_t, 4>{16, 64, 32, 16}));
  for (const EvenTile& tile : even_tiles(144, 1, tile_unit(chain, Dim::k)))
    EXPECT_EQ(tile.tile % 32, 0);
}

/// Shares of columns are whole chunks of 16 bytes of what they become.
TEST(BytesOnChip, SharesOfColumnsAreChunks) {
  EXPECT_EQ(chip::scatter_slot({16, 32}, 4), 16 * 8 * 4);
  EXPECT_EQ(chip::scatter_slot({16, 32}, 4, chip::share_unit(1)), 16 * 16 * 4);
  EXPECT_EQ(chip::share_unit(2), 8);
}

/// wgmma m64nNk32 and mma m16n8k32, at twice the rate of elements of two bytes.
TEST(BytesOnChip, WhatTheMachineCharges) {
  const Machine machine = load_machine("h100", {});
  EXPECT_EQ(machine.matrix_rate(1), 2 * machine.matrix_rate(2));
  EXPECT_EQ(machine.matrix_work(64, 64, 32, 1), 2.0 * 64 * 64 * 32);
  EXPECT_EQ(machine.matrix_work(64, 64, 16, 1), 2.0 * 64 * 64 * 32);  // filled
  EXPECT_EQ(machine.matrix_work(64, 64, 16, 2), 2.0 * 64 * 64 * 16);
}

}  // namespace
}  // namespace fuseflow::cluster
