// Estimates phase by phase: the same figures as of all phases together, also of phases that were
// counted before, in another place or under other names (estimate/phase_counts.h).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "estimate/count_within.h"
#include "estimate/estimate.h"
#include "estimate/phase_counts.h"
#include "ir/parse.h"
#include "lower/lower.h"
#include "machine/load.h"
#include "sim/program_run.h"

namespace fuseflow {
namespace {

/// Layers whose sparse sums of two graphs and whose features are stored; `place`: where.
Program layers(int count, const std::string& place, const std::string& prefix = "") {
  std::string tensors;
  std::string statements;
  std::string places;
  std::string from = "x";
  for (int n = 1; n <= count; ++n) {
    const std::string name = fmt::format("{}{}", prefix, n);
    tensors += fmt::format(
        "const %w{0}: f32[10, 10] dense,dense facts(finite) = dense(seed={1})\n"
        "temp %s{0}: f32[24, 24] dense,compressed facts(finite)\n"
        "temp %y{0}: f32[24, 10] dense,dense facts(finite)\n",
        name, n);
    statements += fmt::format(
        "  %s{0}[i, j] = %a[i, j] + %b[i, j]\n"
        "  %y{0}[i, f] = relu(sum(j, k) %s{0}[i, j] * %{1}[j, k] * %w{0}[k, f])\n",
        name, from);
    places += fmt::format("  place %s{0} = {1}\n  place %y{0} = {1}\n", name, place);
    from = "y" + name;
  }
  Program program =
      parse_program({"test",
                     "fuseflow 1\nprogram \"p\"\n"
                     "input %a: f32[24, 24] dense,compressed facts(finite) = "
                     "power_law(shape=[24,24],density=0.1,seed=4)\n"
                     "input %b: f32[24, 24] dense,compressed facts(finite) = "
                     "uniform(shape=[24,24],density=0.1,seed=7)\n"
                     "input %x: f32[24, 10] dense,dense facts(finite) = dense(seed=9)\n" +
                         tensors + "result %z: f32[24, 10] dense,dense\nregion @z {\n" + places +
                         statements + fmt::format("  %z[i, f] = %{}[i, f] + 1\n}}\n", from)});
  return lower_program(std::move(program));
}

void expect_same(const Program& program, const Machine& machine, estimate::PhaseCounts& known) {
  TensorData data = load_patterns(program);
  data.storage.resize(program.tensors.size());
  TensorData other = data;
  std::vector<bool> uncertain(program.tensors.size(), false);
  std::vector<bool> other_uncertain = uncertain;
  const Region& region = program.regions[0];
  const RegionEstimate all = estimate_region_into(program, region, data, uncertain, machine);
  size_t left = 1 << 20;
  const RegionEstimate parts =
      time_region_within(left, program, region, other, other_uncertain, machine, known);
  EXPECT_EQ(parts.cycles, all.cycles);
  EXPECT_EQ(parts.bound, all.bound);
  EXPECT_EQ(parts.busy, all.busy);
  EXPECT_EQ(parts.limit, all.limit);
  EXPECT_EQ(parts.flops, all.flops);
  EXPECT_EQ(parts.tokens, all.tokens);
  EXPECT_EQ(parts.dram_read_bytes, all.dram_read_bytes);
  EXPECT_EQ(parts.dram_write_bytes, all.dram_write_bytes);
  EXPECT_EQ(parts.scratchpad_read_bytes, all.scratchpad_read_bytes);
  EXPECT_EQ(parts.certain, all.certain);
  EXPECT_EQ(uncertain, other_uncertain);
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    ASSERT_EQ(data.storage[t] == nullptr, other.storage[t] == nullptr);
    if (data.storage[t] == nullptr || program.tensors[t].given()) continue;
    EXPECT_EQ(data.storage[t]->levels[1].pos, other.storage[t]->levels[1].pos);
    EXPECT_EQ(data.storage[t]->levels[1].crd, other.storage[t]->levels[1].crd);
  }
}

class EstimatePhases : public testing::TestWithParam<const char*> {};

TEST_P(EstimatePhases, TogetherOrEachForItself) {
  const Machine machine = load_machine(GetParam(), {});
  for (const char* const place : {"scratchpad", "memory"}) {
    estimate::PhaseCounts known;
    expect_same(layers(1, place), machine, known);
    expect_same(layers(3, place), machine, known);
    expect_same(layers(3, place), machine, known);
    expect_same(layers(2, place, "other"), machine, known);
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, EstimatePhases, testing::Values("ideal", "comal", "rda"));

TEST(EstimatedRows, RowsOfWhatIsKnownCount) {
  const Program program = layers(3, "scratchpad");
  estimate::PhaseCounts known;
  std::vector<size_t> taken;
  for (int turn = 0; turn < 2; ++turn) {
    TensorData data = load_patterns(program);
    data.storage.resize(program.tensors.size());
    std::vector<bool> uncertain(program.tensors.size(), false);
    constexpr size_t kEnough = 1 << 20;
    size_t left = kEnough;
    time_region_within(left, program, program.regions[0], data, uncertain, {}, known);
    taken.push_back(kEnough - left);
  }
  EXPECT_GT(taken[0], 0U);
  EXPECT_EQ(taken[0], taken[1]);
  TensorData data = load_patterns(program);
  data.storage.resize(program.tensors.size());
  std::vector<bool> uncertain(program.tensors.size(), false);
  size_t few = taken[0] - 1;
  EXPECT_THROW(time_region_within(few, program, program.regions[0], data, uncertain, {}, known),
               Error);
}

}  // namespace
}  // namespace fuseflow
