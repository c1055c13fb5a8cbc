// Bursts that loops over an array ask for: counted here one access after another.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "estimate/address_loops.h"

namespace fuseflow::estimate {
namespace {

constexpr double kBurst = 64;

AddressLoops loops_over(double bytes, const std::vector<AddressLoop>& around) {
  AddressLoops result{bytes, {}};
  for (const AddressLoop& loop : around) result.add(loop);
  return result;
}

/// Of loops over all coordinates, innermost first.
double counted(int64_t bytes, const std::vector<AddressLoop>& around) {
  std::vector<int64_t> begins{0};
  for (const AddressLoop& loop : around) {
    std::vector<int64_t> all;
    for (int64_t k = 0; k < static_cast<int64_t>(loop.extent); ++k) {
      for (const int64_t begin : begins) {
        all.push_back(begin + k * static_cast<int64_t>(loop.step));
      }
    }
    begins = all;
  }
  double bursts = 0;
  int64_t last = -1;
  for (const int64_t begin : begins) {
    for (int64_t at = begin; at < begin + bytes; ++at) {
      if (at / static_cast<int64_t>(kBurst) != last) ++bursts;
      last = at / static_cast<int64_t>(kBurst);
    }
  }
  return bursts;
}

AddressLoop whole(double extent, double step) {
  return {extent, extent, step};
}

TEST(AddressLoops, LoopsOverAllCoordinates) {
  const std::vector<std::vector<AddressLoop>> cases = {
      {whole(64, 4), whole(64, 256)},                  // in the order of storage
      {whole(64, 256), whole(64, 4)},                  // across it
      {whole(4, 16), whole(4, 4), whole(40, 64)},      // a block in each burst
      {whole(3, 20), whole(5, 4), whole(40, 60)},      // blocks that lie across bursts
      {whole(6, 4), whole(5, 960), whole(40, 24)},     // rows of a few values
      {whole(100, 4), whole(7, 1200), whole(3, 400)},  // rows of several bursts
      {whole(7, 12), whole(9, 84)},                    // what lies between is written by another
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    const double real = counted(4, cases[i]);
    EXPECT_NEAR(loops_over(4, cases[i]).bursts(kBurst), real, 0.01 * real + 1) << i;
    const double blocks = counted(16, cases[i]);
    if (i == 1) {
      EXPECT_NEAR(loops_over(16, cases[i]).bursts(kBurst), blocks, 0.01 * blocks) << i;
    }
  }
}

TEST(AddressLoops, OneAfterTheOtherTakeTheirBytes) {
  EXPECT_EQ(loops_over(4, {whole(8, 4), whole(20, 32)}).bursts(kBurst), 10);
  EXPECT_EQ(loops_over(4, {}).bursts(kBurst), 1);
  EXPECT_EQ(loops_over(0, {whole(8, 4)}).bursts(kBurst), 0);
}

TEST(AddressLoops, AWalkAsksForOneBurstAfterAnother) {
  const AddressLoops across = loops_over(4, {whole(3, 128), whole(20, 4)});
  ASSERT_TRUE(across.known());
  AddressWalk walk(across, kBurst);
  std::vector<uint64_t> bursts;
  for (int i = 0; i < 7; ++i) bursts.push_back(walk.next());
  EXPECT_EQ(bursts, (std::vector<uint64_t>{0, 2, 4, 0, 2, 4, 0}));

  const AddressLoops rows = loops_over(4, {whole(20, 4), whole(2, 160)});
  AddressWalk along(rows, kBurst);  // 80 bytes from 0 on, 80 from 160 on, and again
  bursts.clear();
  for (int i = 0; i < 6; ++i) bursts.push_back(along.next());
  EXPECT_EQ(bursts, (std::vector<uint64_t>{0, 1, 2, 3, 0, 1}));
  EXPECT_FALSE(loops_over(4, {{9, 90, 4}}).known());
}

/// Of 16 values in a burst each is there with density d: a burst is met with 1 - (1 - d)^16.
TEST(AddressLoops, ListedCoordinatesMeetSomeOfTheBursts) {
  EXPECT_NEAR(loops_over(4, {{900, 9000, 4}}).bursts(kBurst), 9000. / 16 * (1 - std::pow(.9, 16)),
              6);
  EXPECT_NEAR(loops_over(4, {{900, 9000, 256}}).bursts(kBurst), 900, 1e-6);
}

}  // namespace
}  // namespace fuseflow::estimate
