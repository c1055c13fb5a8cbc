// What stays in the scratchpad from region to region: the same results, bytes of the scratchpad
// instead of bytes of memory, room in all regions on the way. What is refused: golden cases
// place/stays*.
#include <gtest/gtest.h>

#include <string>

#include "ir/parse.h"
#include "ir/print.h"
#include "ir/residency.h"
#include "lower/lower.h"
#include "machine/load.h"
#include "sim/common/written_tensors.h"
#include "sim/program_run.h"

namespace fuseflow {
namespace {

constexpr const char* kRegions = R"(fuseflow 1
program "residency"
input %a: f32[40, 30] dense,compressed = uniform(density=0.1, seed=1)
input %x: f32[30] dense = uniform(density=1, seed=2)
temp %h: f32[40, 30] dense,compressed
temp %s: f32[40] dense
temp %t: f32[40] dense
result %y: f32[40] dense
region @h { %h[i, j] = relu(%a[i, j]) }
region @s { %s[i] = sum(j) %h[i, j] * %x[j] }
region @t { %t[i] = %s[i] * 2 }
region @y { %y[i] = sum(j) %h[i, j] * %t[i] }
)";

/// The regions lowered, with the named intermediates staying, after a trip through text.
Program lowered(const std::string& staying) {
  Program program = parse_program(SourceText{"<test>", kRegions});
  for (const Resident& passed : passed_on(program)) {
    const std::string& name = program.tensors[static_cast<size_t>(passed.tensor)].name;
    if (staying.find(name) != std::string::npos) make_resident(program, passed);
  }
  return parse_program(SourceText{"<test>", print_program(lower_program(std::move(program)))});
}

ProgramRun run(const Program& program, const Machine& machine) {
  return run_program(program, load_tensors(program), machine, {});
}

/// The values of the stored result of a run.
std::vector<float> values(const Program& program, const ProgramRun& run) {
  const auto& stored = run.data.storage[static_cast<size_t>(find_tensor(program, "y"))]->values;
  return {stored.begin(), stored.end()};
}

TEST(Residency, WhatStaysTakesNoBytesOfMemory) {
  const Machine machine = load_machine("rda", {});
  const Program none = lowered("");
  const ProgramRun before = run(none, machine);
  const RunResult whole = total_counts(before, machine);
  for (const std::string staying : {"h", "s", "t", "hst"}) {
    SCOPED_TRACE(staying);
    const Program program = lowered(staying);
    const ProgramRun now = run(program, machine);
    EXPECT_EQ(values(program, now), values(none, before));
    const RunResult counts = total_counts(now, machine);
    // Every byte that memory lacks is one of the scratchpad.
    EXPECT_EQ(counts.dram_read_bytes + counts.scratchpad_read_bytes, whole.dram_read_bytes);
    EXPECT_EQ(counts.dram_write_bytes + counts.scratchpad_write_bytes, whole.dram_write_bytes);
    int64_t written = 0;
    for (const char name : staying) {
      const TensorId tensor = find_tensor(program, std::string(1, name));
      written += storage_bytes(program, tensor, *now.data.storage[tensor]);
    }
    EXPECT_EQ(counts.scratchpad_write_bytes, written);
    EXPECT_LT(counts.dram_read_bytes, whole.dram_read_bytes);
  }
}

TEST(Residency, RegionsOnTheWayKeepTheRoom) {
  const Program program = lowered("h");
  for (const Region& region : program.regions) {
    SCOPED_TRACE(region.name);
    EXPECT_EQ(region.graph->scratchpad, std::vector<TensorId>{find_tensor(program, "h")});
    EXPECT_EQ(region.graph->resident.empty(), region.name == "h");
  }
  Machine machine = load_machine("rda", {});
  machine.scratchpad.bytes = 64;
  EXPECT_THROW(check_fits(program, program.regions[2], machine), Error);  // @t touches it not
}

}  // namespace
}  // namespace fuseflow
