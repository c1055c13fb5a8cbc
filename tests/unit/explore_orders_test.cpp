// The orders that a search tries.
#include "explore/orders.h"

#include <gtest/gtest.h>

#include <set>

#include "ir/parse.h"

namespace fuseflow {
namespace {

/// A product of vectors, all of which are looked up: each order of the six loops is legal.
TEST(Orders, AreAllThereAreIfTheyAreFew) {
  std::string text = "fuseflow 1\n";
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    text += std::string("input %") + name + ": f32[3] dense facts(finite) = ones()\n";
  }
  text +=
      "result %y: f32[3, 3, 3, 3, 3, 3] dense,dense,dense,dense,dense,dense\nregion @y {\n"
      "  %y[i, j, k, l, m, n] = %a[i] * %b[j] * %c[k] * %d[l] * %e[m] * %f[n]\n}\n";
  const Program program = parse_program({"text", text});
  const RegionIndices indices = region_indices(program, 0);
  const auto count = [&](size_t limit) {
    const auto orders = candidate_orders(indices, limit);
    return std::set<std::vector<std::string>>(orders.begin(), orders.end()).size();
  };
  const size_t all = count(5000);
  EXPECT_EQ(count(all), all);
  EXPECT_EQ(count(100), 100U);
  EXPECT_EQ(all, 720U);
}

}  // namespace
}  // namespace fuseflow
