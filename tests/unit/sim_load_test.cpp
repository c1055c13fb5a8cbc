// Tensors that are loaded side by side are those that are loaded one after the other.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/parse.h"
#include "sim/program_run.h"

namespace fuseflow {
namespace {

Program with_inputs(const std::string& inputs, const std::string& body) {
  return parse_program({"test.ff", "fuseflow 1\nprogram \"test\"\n" + inputs +
                                       "result %y: f32[300, 300] dense,dense\n\nregion @y {\n  " +
                                       "%y[i, j] = " + body + "\n}\n"});
}

TEST(Load, TheSameOnAnyNumberOfThreads) {
  const Program program = with_inputs(
      "input %a: f32[300, 300] dense,compressed facts(finite) = uniform(density=0.5,seed=1)\n"
      "input %b: f32[300, 300] dense,dense facts(finite) = uniform(density=1,seed=2)\n"
      "input %c: f32[300, 300] dense,dense facts(finite) = uniform(density=1,seed=3)\n"
      "input %unused: f32[300, 300] dense,dense = uniform(density=1,seed=4)\n",
      "%a[i, j] * %b[i, j] * %c[i, j]");
  const TensorData one = load_tensors(program);
  for (const int threads : {2, 8}) {
    const TensorData several = load_tensors(program, {}, threads);
    for (size_t t = 0; t < one.storage.size(); ++t) {
      ASSERT_EQ(one.storage[t] == nullptr, several.storage[t] == nullptr) << t;
      if (one.storage[t] == nullptr) continue;
      EXPECT_TRUE(std::ranges::equal(one.storage[t]->values, several.storage[t]->values)) << t;
      for (size_t l = 0; l < one.storage[t]->levels.size(); ++l) {
        const auto level = [l](const TensorData& data, size_t tensor) -> const Level& {
          return data.storage[tensor]->levels[l];
        };
        EXPECT_TRUE(std::ranges::equal(level(one, t).crd, level(several, t).crd)) << t;
      }
    }
  }
}

TEST(Load, TheFirstProblemOfTheProgramIsReported) {
  const Program program = with_inputs(
      "input %a: f32[300, 300] dense,dense = uniform(density=1,seed=1)\n"
      "input %b: f32[300, 300] dense,dense = file(\"missing.b.npy\", nnz=70000)\n"
      "input %c: f32[300, 300] dense,dense = file(\"missing.c.npy\", nnz=90000)\n",
      "%a[i, j] * %b[i, j] * %c[i, j]");
  for (const int threads : {1, 2, 8}) {
    try {
      load_tensors(program, {}, threads);
      FAIL() << "no problem on " << threads << " threads";
    } catch (const Error& error) {
      ASSERT_FALSE(error.diagnostics().empty());
      EXPECT_EQ(error.diagnostics().front().where.file, "missing.b.npy");
    }
  }
}

}  // namespace
}  // namespace fuseflow
