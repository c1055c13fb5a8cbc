// Which kernels may be streams on a machine without units for them: as few as possible.
#include "explore/points.h"

#include <gtest/gtest.h>

#include "ir/parse.h"
#include "machine/load.h"

namespace fuseflow {
namespace {

Program four_kernels() {
  return parse_program({"test", R"(fuseflow 1
input %x: f32[4] dense = uniform(density=1,seed=1)
temp %a: f32[4] dense
temp %b: f32[4] dense
temp %c: f32[4] dense
result %y: f32[4] dense
region @a { %a[i] = relu(%x[i]) }
region @b { %b[i] = relu(%a[i]) }
region @c { %c[i] = relu(%b[i]) }
region @y { %y[i] = relu(%c[i]) }
)"});
}

/// A seed in which these runs are planned for cores.
Seed planned(const std::vector<Interval>& runs) {
  Seed seed;
  for (const Interval run : runs) {
    Seed::Part& part = seed.parts.emplace_back();
    part.first = run.first;
    part.last = run.last;
    part.planned = std::make_shared<const PlannedRun>();
  }
  return seed;
}

TEST(StreamKernels, AreThoseThatNoPlanHas) {
  const Program kernels = four_kernels();
  const Machine cores = load_machine("h100");
  const StreamKernels all(4, true), none(4, false);
  EXPECT_EQ(stream_kernels(kernels, cores, {}), all);
  EXPECT_EQ(stream_kernels(kernels, load_machine("rda"), {planned({{0, 3}})}), all);
  EXPECT_EQ(stream_kernels(kernels, cores, {planned({{0, 3}})}), none);
  EXPECT_EQ(stream_kernels(kernels, cores, {planned({{1, 1}}), planned({{3, 3}})}),
            (StreamKernels{true, false, true, false}));
}

// Every kernel is in some plan, but no division of the program has plans alone.
TEST(StreamKernels, AreAsFewAsPossibleWherePlansCross) {
  const Program kernels = four_kernels();
  const Machine cores = load_machine("h100");
  const StreamKernels may =
      stream_kernels(kernels, cores, {planned({{0, 1}}), planned({{1, 3}}), planned({{2, 2}})});
  EXPECT_EQ(may, (StreamKernels{true, false, false, false}));
}

TEST(StreamKernels, RefuseEveryRunWithAnotherKernel) {
  const Program kernels = four_kernels();
  const Machine cores = load_machine("h100");
  const auto refused = [&](size_t first, size_t last) {
    std::vector<Point> points(2);
    for (Point& point : points) {
      point.first = first;
      point.last = last;
    }
    points[1].planned = std::make_shared<const PlannedRun>();
    refuse_streams(points, kernels, cores, {true, true, false, true});
    EXPECT_TRUE(points[1].refused.empty());
    return points[0].refused;
  };
  EXPECT_EQ(refused(0, 1), "");
  EXPECT_EQ(refused(1, 3), "machine h100 has no units for streams, and @c has tiles");
}

}  // namespace
}  // namespace fuseflow
