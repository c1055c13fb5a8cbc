// Orders that are chosen without a cost model: by expected stream lengths.
#include <gtest/gtest.h>

#include "ir/parse.h"
#include "passes/pass.h"

namespace fuseflow {
namespace {

using Order = std::vector<std::string>;

/// A product of sparse matrices, times a vector: with its loop outermost all is done 1,000 times.
Program with_order(const std::string& order) {
  return parse_program({"test.ff", R"(fuseflow 1
input %a: f32[40, 40] dense,compressed = uniform(shape=[40,40],density=0.05,seed=1)
input %b: f32[40, 40] dense,compressed = uniform(shape=[40,40],density=0.05,seed=2)
input %v: f32[1000] dense
result %y: f32[40, 40, 1000] dense,dense,dense
region @y {
  order )" + order + R"(
  %y[i, j, w] = (sum(k) %a[i, k] * %b[k, j]) * %v[w]
}
)"});
}

struct Ordered {
  Order order;
  std::vector<std::string> notes;
};

Ordered ordered(const std::string& given) {
  const Pass& pass = find_pass("order");
  PassArguments arguments;
  arguments.add("auto", "true");
  PassLog log;
  const Program result = pass.run(with_order(given), arguments, log);
  return {result.regions[0].schedule.order, log.lines()};
}

TEST(OrderByLengths, TheShortestStays) {
  const Ordered same = ordered("i, k, j, w");
  EXPECT_EQ(same.order, (Order{"i", "k", "j", "w"}));
  EXPECT_EQ(same.notes, (std::vector<std::string>{"@y: the given order stays: i, k, j, w"}));
}

TEST(OrderByLengths, AShorterOneIsFound) {
  const Ordered better = ordered("w, i, k, j");
  EXPECT_EQ(better.order, Order{});  // the default
  ASSERT_EQ(better.notes.size(), 1U);
  EXPECT_EQ(better.notes[0].rfind("@y: order i, k, j, w (about ", 0), 0U) << better.notes[0];
  EXPECT_NE(better.notes[0].find(" steps; as it was "), std::string::npos) << better.notes[0];
}

}  // namespace
}  // namespace fuseflow
