// The check of results, on results that nothing simulated: those of the reference itself.
#include <gtest/gtest.h>

#include "ir/parse.h"
#include "sim/program_run.h"
#include "sim/report/check.h"

namespace fuseflow {
namespace {

/// A program and what it computes, each region of it in a region's own statements.
struct CheckedProgram {
  Program program;
  TensorData data;
  std::vector<TensorId> written;

  explicit CheckedProgram(const std::string& text)
      : program(parse_program({"test.ff", "fuseflow 1\nprogram \"test\"\n" + text})),
        data(load_tensors(program)) {
    const std::vector<Value> values = evaluate(program, data.storage);
    for (const Region& region : program.regions) {
      for (const Statement& s : region.statements) {
        const auto t = static_cast<size_t>(s.result);
        data.storage[t] = std::make_shared<const Storage>(
            from_dense(*values[t].dense, values[t].shape, program.tensors[t].format));
        written.push_back(s.result);
      }
    }
  }

  ReferenceCheck check(std::function<std::string(const ReferenceProgress&)> stop = {}) const {
    return check_reference(program, data, written, {.threads = 1, .stop = std::move(stop)});
  }
};

constexpr const char* kChainOfRegions = R"(
input %x: f32[4] dense = values(1, 2, 3, 4)
temp %t: f32[4] dense
temp %u: f32[4] dense
result %y: f32[4] dense
region @t { %t[i] = -%x[i] }
region @u { %u[i] = %t[i] + %x[i] }
region @y { %y[i] = %u[i] * 2 }
)";

TEST(Check, EachRegionTakesAnEvaluationOfItsOwnSizeAndMayBeTheLast) {
  const CheckedProgram chain(kChainOfRegions);
  std::vector<size_t> sizes;
  const ReferenceCheck whole = chain.check([&](const ReferenceProgress& at) {
    sizes.push_back(at.statements);
    return std::string();
  });
  ASSERT_EQ(whole.tensors.size(), 3U);
  for (const CheckedTensor& one : whole.tensors) EXPECT_TRUE(one.passes && one.decided());
  // The program, then those regions that read others.
  EXPECT_EQ(sizes, (std::vector<size_t>{3, 3, 3, 1, 1}));

  size_t asked = 0;
  const ReferenceCheck ended = chain.check(
      [&](const ReferenceProgress&) { return std::string(++asked == 5 ? "enough" : ""); });
  EXPECT_EQ(ended.stopped, "enough");
}

TEST(Check, ARegionIsComparedWithWhatItRead) {
  CheckedProgram chain(kChainOfRegions);
  const auto u = static_cast<size_t>(find_tensor(chain.program, "u"));
  chain.data.storage[u] = chain.data.storage[0];
  const ReferenceCheck check = chain.check();
  ASSERT_EQ(check.tensors.size(), 3U);
  EXPECT_TRUE(check.tensors[0].passes);
  EXPECT_EQ(check.tensors[1].against, "the reference");
  EXPECT_FALSE(check.tensors[1].passes);
  EXPECT_EQ(check.tensors[2].against, "the reference on what its region read in the simulation");
  EXPECT_FALSE(check.tensors[2].passes);
}

}  // namespace
}  // namespace fuseflow
