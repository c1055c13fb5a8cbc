// The inner loops over steps and their times against plain ones, whichever version this machine
// runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "sim/engine/step_kernels.h"

namespace fuseflow::engine::kernels {
namespace {

TEST(StepKernels, PlacesAreThoseOfTheTypesInTheSet) {
  std::mt19937 random(1);
  for (const size_t types : {1, 2, 7, 16, 17, 256}) {
    for (int64_t n = 0; n < 300; n += 7) {
      TypeSet set;
      for (size_t t = 0; t < types; ++t) set.set(t, random() % 3 == 0);
      EXPECT_EQ(set.few(), types <= TypeSet::kFew);
      std::vector<uint8_t> steps;
      std::vector<uint16_t> expected;
      for (int64_t k = 0; k < n; ++k) {
        steps.push_back(static_cast<uint8_t>(random() % types));
        if (set[steps.back()] != 0) expected.push_back(static_cast<uint16_t>(k));
      }
      std::vector<uint16_t> places(static_cast<size_t>(n + kPlacesSlack));
      places.resize(static_cast<size_t>(places_of(set, steps.data(), n, places.data())));
      ASSERT_EQ(places, expected) << types << " types, " << n << " steps";
    }
  }
}

TEST(StepKernels, TimesAreThoseOfTheRecurrence) {
  std::mt19937 random(2);
  for (int64_t n = 0; n < 300; n += 5) {
    const int64_t cost = n % 3;
    std::vector<int64_t> bounds;
    std::vector<int64_t> others;
    int64_t bound = -20;
    for (int64_t k = 0; k < n; ++k) {
      bound += random() % 30 == 0 ? random() % 50 : cost;
      bounds.push_back(random() % 50 == 0 ? INT64_MIN / 4 : bound);
      others.push_back(bound + random() % 3);
    }
    const int64_t start = random() % 40;
    std::vector<int64_t> expected;
    for (int64_t k = 0, free_at = start; k < n; ++k, free_at = expected.back() + cost) {
      expected.push_back(std::max(free_at, bounds[static_cast<size_t>(k)]));
    }
    std::vector<int64_t> times(bounds.size());
    solve(bounds.data(), n, start, cost, times.data());
    ASSERT_EQ(times, expected) << n << " steps";

    raise(times.data(), others.data(), 3, n);
    for (size_t k = 0; k < times.size(); ++k) {
      ASSERT_EQ(times[k], std::max(expected[k], others[k] + 3));
    }
    EXPECT_TRUE(all_before(expected.data(), times.data(), 0));
    for (int64_t& time : times) ++time;
    EXPECT_TRUE(all_before(expected.data(), times.data(), n));
    if (n == 0) continue;
    const size_t one = random() % times.size();
    times[one] = expected[one];
    EXPECT_FALSE(all_before(expected.data(), times.data(), n));
  }
}

TEST(StepKernels, APlaceIsFoundByCounting) {
  for (const size_t known : {size_t{4}, size_t{40}}) {
    TypeSet set;
    for (size_t t = 0; t < known; ++t) set.set(t, t % 3 == 1);
    std::vector<uint8_t> types;
    for (size_t k = 0; k < 500; ++k) types.push_back(static_cast<uint8_t>(k * k % 97 % known));
    for (int64_t n = 0; n <= 500; n += 7) {
      for (int64_t count = 1; count < 300; count += 11) {
        int64_t left = count;
        int64_t expected = 0;
        for (; expected < n; ++expected) {
          if (set[types[static_cast<size_t>(expected)]] == 0) continue;
          if (left == 1) break;
          --left;
        }
        int64_t found_left = count;
        EXPECT_EQ(find_place(set, types.data(), n, found_left), expected);
        EXPECT_EQ(found_left, left);
      }
    }
  }
}

}  // namespace
}  // namespace fuseflow::engine::kernels
