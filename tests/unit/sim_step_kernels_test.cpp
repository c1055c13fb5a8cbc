// The inner loops over steps and their times against plain ones, whichever version this machine
// runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "sim/timing/step_kernels.h"

namespace fuseflow::engine::loops {
namespace {

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

}  // namespace
}  // namespace fuseflow::engine::loops
