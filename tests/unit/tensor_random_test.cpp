// Random numbers made in blocks, and samples drawn with them, against one number at a time.
#include <gtest/gtest.h>

#include "tensor/random_blocks.h"
#include "tensor/sample.h"

namespace fuseflow {
namespace {

TEST(TensorRandom, BlocksHoldTheSameNumbers) {
  Random random(7);
  RandomBlocks blocks(random);
  for (int k = 0; k < 30000; ++k) ASSERT_EQ(blocks.next(), random.next()) << k;
}

TEST(TensorRandom, BlocksAreLeftWhereTheyAre) {
  for (const size_t taken : {0, 1, 255, 256, 257, 2303, 2304, 2305, 8447, 8448, 8449, 20000}) {
    Random random(3, 1);
    RandomBlocks blocks(random);
    for (size_t left = taken; left > 0;) {
      const size_t count = std::min(left, blocks.ahead().size());
      blocks.take(count);
      left -= count;
    }
    for (size_t k = 0; k < taken; ++k) random.next();
    Random behind = blocks.random();
    const uint64_t expected = random.next();
    EXPECT_EQ(behind.next(), expected) << taken;
    EXPECT_EQ(blocks.next(), expected) << taken;
  }
}

TEST(TensorRandom, BlocksKeepTheSecondNormal) {
  Random random(5);
  random.normal();
  Random behind = RandomBlocks(random).random();
  EXPECT_EQ(behind.normal(), random.normal());
}

/// The rule of sampling::pass, one element at a time.
std::vector<uint64_t> scanned(Random& random, uint64_t range, uint64_t wanted) {
  std::vector<uint64_t> taken;
  for (uint64_t i = 0; taken.size() < wanted; ++i) {
    if (random.below(range - i) < wanted - taken.size()) taken.push_back(i);
  }
  return taken;
}

TEST(TensorRandom, SamplesAreThoseOfOneElementAtATime) {
  const std::vector<std::pair<uint64_t, uint64_t>> kCases = {
      {1, 1},           {7, 3},         {100, 7},        {1000, 1000},     {1000, 999},
      {40000, 5000},    {40000, 39000}, {300000, 20000}, {300000, 150000}, {2000, 130},
      {1 << 20, 70000}, {8448, 8400},   {8449, 1000}};
  for (const auto& [range, wanted] : kCases) {
    for (uint64_t seed = 0; seed < 4; ++seed) {
      Random one(seed);
      Random many(seed);
      const std::vector<uint64_t> expected = scanned(one, range, wanted);
      std::vector<uint64_t> picked;
      sample(many, range, wanted, [&](std::span<const uint64_t> piece) {
        picked.insert(picked.end(), piece.begin(), piece.end());
      });
      ASSERT_EQ(picked, expected) << wanted << " of " << range;
      EXPECT_EQ(many.next(), one.next());
    }
  }
}

/// What pass() decides is what below() decides, whatever the numbers are.
void check_pass(const std::vector<uint64_t>& random, uint64_t range, uint64_t first,
                uint64_t left) {
  std::vector<uint64_t> taken(random.size() + sampling::kRoom);
  const sampling::SampleProgress passed = sampling::pass(random, range, first, left, taken.data());
  ASSERT_LE(passed.elements, random.size());
  struct Given {
    const std::vector<uint64_t>& numbers;
    size_t at = 0;
    uint64_t next() { return numbers.at(at++); }
  } given{random};
  std::vector<uint64_t> expected;
  for (uint64_t i = first; i < first + passed.elements; ++i) {
    if (random_below(given, range - i) < left - expected.size()) expected.push_back(i);
  }
  EXPECT_EQ(given.at, passed.elements);  // none of them was rejected
  taken.resize(passed.taken);
  EXPECT_EQ(taken, expected);
}

TEST(TensorRandom, PassDecidesOnlyWhatIsPlain) {
  Random random(11);
  std::vector<uint64_t> numbers(512);
  for (uint64_t& number : numbers) number = random.next();
  for (const uint64_t range : {513ULL, 600ULL, 70000ULL, 0xFFFFFFFFULL, 0x100000100ULL}) {
    for (const uint64_t first : {0ULL, 1ULL}) {
      for (uint64_t left = 1; left <= range - first; left = left * 3 + 1) {
        check_pass(numbers, range, first, left);
      }
    }
  }
  // Numbers whose product with the bound has lower bits below it: those that may be rejected.
  for (const size_t at : {0, 5, 100, 511}) {
    for (const uint64_t odd : {UINT64_C(0), UINT64_C(1), ~UINT64_C(0)}) {
      std::vector<uint64_t> with = numbers;
      with[at] = odd;
      check_pass(with, 0xFFFFFFF0, 0, 0x7FFFFFFF);
      check_pass(with, 70000, 0, 6000);
    }
  }
}

}  // namespace
}  // namespace fuseflow
