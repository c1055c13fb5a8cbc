// How deep the buffers of lowered graphs are, and where they are: rows that follow each other
// without a gap need one row more than there are reductions between (ir-spec/lowering.md,
// "Buffers"); what is used late holds a row, not a matrix; a machine without room gives less.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ir/parse.h"
#include "ir/print.h"
#include "lower/lower.h"
#include "machine/load.h"
#include "resources/resources.h"
#include "resources/shallower_buffers.h"
#include "sim/program_run.h"

namespace fuseflow {
namespace {

constexpr int64_t kRow = 103;  ///< tokens that a row of 100 values is given room for

/// Rows of 64 x 100 values that are added to what `reductions` in sequence make of them.
Program residual(int reductions) {
  std::string tensors;
  std::string statements;
  std::string value = "%x[i, j]";
  for (int n = 1; n <= reductions; ++n) {
    tensors += fmt::format(
        "temp %s{0}: f32[64] dense facts(finite)\n"
        "temp %c{0}: f32[64, 100] dense,dense facts(finite)\n",
        n);
    statements += fmt::format(
        "  %s{0}[i] = sum(j) {1}\n"
        "  %c{0}[i, j] = {1} * %s{0}[i]\n",
        n, value);
    value = fmt::format("%c{}[i, j]", n);
  }
  return parse_program(
      SourceText{"<test>",
                 "fuseflow 1\nprogram \"residual\"\n"
                 "input %x: f32[64, 100] dense,dense facts(finite) = dense(seed=1)\n" +
                     tensors + "result %y: f32[64, 100] dense,dense\nregion @y {\n" + statements +
                     "  %y[i, j] = %x[i, j] + " + value + "\n}\n"});
}

std::vector<Node*> buffers(Program& program) {
  std::vector<Node*> found;
  for (Region& region : program.regions) {
    for (Node& node : region.graph->nodes) {
      if (node.kind == NodeKind::buffer) found.push_back(&node);
    }
  }
  return found;
}

/// Tokens of the deepest buffer.
int64_t deepest(Program& program) {
  int64_t most = 0;
  for (const Node* buffer : buffers(program)) most = std::max(most, buffer->capacity);
  return most;
}

/// Cycles where every buffer that is deeper than it must be holds so many tokens; 0: any number.
int64_t cycles_with(Program program, int64_t tokens, const Machine& machine) {
  for (Node* buffer : buffers(program)) {
    if (tokens > 0 && buffer->least == 0) continue;
    buffer->capacity = tokens;
    buffer->least = 0;
  }
  const ProgramRun run = run_program(program, load_tensors(program), machine, {});
  return run.regions[0].cycles;
}

TEST(Buffers, ResidualHoldsARowMoreThanItPassesReductions) {
  for (int n = 1; n <= 5; ++n) {
    SCOPED_TRACE(n);
    Program program = lower_program(residual(n));
    EXPECT_EQ(deepest(program), std::max(2, n + 1) * kRow);
    for (const Node* buffer : buffers(program)) {
      EXPECT_EQ(buffer->least, buffer->capacity > 2 * kRow ? 2 * kRow : 0);
    }
  }
  Program none = lower_program(residual(0));
  EXPECT_TRUE(buffers(none).empty());
}

TEST(Buffers, OneRowLessIsSlowerAndOneMoreNotFaster) {
  const Machine machine = load_machine("rda", {});
  for (int n = 2; n <= 5; ++n) {
    SCOPED_TRACE(n);
    const Program program = lower_program(residual(n));
    const int64_t rows = n + 1;
    const int64_t lowered = cycles_with(program, rows * kRow, machine);
    EXPECT_GT(cycles_with(program, (rows - 1) * kRow, machine), lowered);
    EXPECT_EQ(cycles_with(program, (rows + 1) * kRow, machine), lowered);
    EXPECT_EQ(cycles_with(program, 0, machine), lowered);
  }
}

TEST(Buffers, NotMoreRowsThanThereAre) {
  std::string text = print_program(residual(5));
  for (size_t at = text.find("64"); at != std::string::npos; at = text.find("64")) {
    text.replace(at, 2, "3");
  }
  Program program = lower_program(parse_program(SourceText{"<test>", text}));
  EXPECT_EQ(deepest(program), 3 * kRow);
}

/// Rows of h = relu(norm(x) W) V, in one region: each weight is 40 times as large as a row.
constexpr const char* kTwoLayers = R"(fuseflow 1
program "layers"
input %x: f32[30, 40] dense,dense facts(finite) = dense(seed=1)
const %w: f32[40, 50] dense,dense facts(finite) = dense(seed=2)
const %v: f32[50, 40] dense,dense facts(finite) = dense(seed=3)
temp %s: f32[30] dense facts(finite)
temp %n: f32[30, 40] dense,dense facts(finite)
temp %a: f32[30, 50] dense,dense facts(finite)
temp %h: f32[30, 50] dense,dense facts(finite)
temp %b: f32[30, 40] dense,dense facts(finite)
result %y: f32[30, 40] dense,dense
region @y {
  %s[i] = sum(j) %x[i, j]
  %n[i, j] = %x[i, j] * %s[i]
  %a[i, k] = sum(j) %n[i, j] * %w[j, k]
  %h[i, k] = relu(%a[i, k])
  %b[i, j] = sum(k) %h[i, k] * %v[k, j]
  %y[i, j] = %x[i, j] + %b[i, j]
}
)";

int64_t bytes_of(const Program& program, const Graph& graph, const Machine& machine) {
  return region_resources(program, graph, machine).phases.front().buffer_bytes;
}

int64_t cycles_of(const Program& program, const Machine& machine) {
  return run_program(program, load_tensors(program), machine, {}).regions[0].cycles;
}

TEST(Buffers, WeightsThatAreUsedLateMustHoldARowNotTheMatrix) {
  Program program = lower_program(parse_program(SourceText{"<test>", kTwoLayers}));
  const Graph& graph = *program.regions[0].graph;
  int ahead = 0;
  for (const Node* buffer : buffers(program)) {
    if (buffer->least == 1) {
      ++ahead;
      EXPECT_GT(buffer->capacity, 2 * 40 * 50);  // two matrices
      continue;
    }
    EXPECT_LE(graph.streams[static_cast<size_t>(buffer->outputs[0])].indices.size(), 2u);
    EXPECT_LE(buffer->capacity, 5 * 53);  // rows of 50
  }
  EXPECT_GE(ahead, 1);
  const Machine machine = load_machine("rda", {});
  EXPECT_EQ(cycles_with(program, 0, machine), cycles_of(program, machine));
}

TEST(Buffers, WhatIsLoadedAheadTakesTheRoomThatThereIs) {
  Program program = lower_program(parse_program(SourceText{"<test>", kTwoLayers}));
  const Region& region = program.regions[0];
  Machine machine = load_machine("rda", {"dram.model=banked"});
  machine.scratchpad.bytes = 0;
  int64_t room = bytes_of(program, *region.graph, machine);
  for (const Node* buffer : buffers(program)) {
    if (buffer->least == 1) room -= 4 * (buffer->capacity - 500);
  }
  // All that must be held is held in full before matrices are loaded ahead.
  machine.scratchpad.bytes = room;
  const auto fitted = with_shallower_buffers(program, *region.graph, machine);
  ASSERT_TRUE(fitted);
  for (size_t n = 0; n < fitted->nodes.size(); ++n) {
    const Node& node = fitted->nodes[n];
    if (node.kind != NodeKind::buffer || node.least == 1) continue;
    EXPECT_EQ(node.capacity, region.graph->nodes[n].capacity);
  }
  EXPECT_EQ(why_too_large(program, region, *region.graph, machine), "");
  EXPECT_LE(bytes_of(program, *region.graph, machine), room);
}

TEST(Buffers, WhatIsLoadedAheadTakesNoUnitsThatAreMissing) {
  Program program = lower_program(parse_program(SourceText{"<test>", kTwoLayers}));
  const Region& region = program.regions[0];
  int64_t needed = 0;
  int64_t ahead = 0;
  for (const Node* buffer : buffers(program)) ++(buffer->least == 1 ? ahead : needed);
  for (const int64_t count : {needed, needed + ahead - 1, needed + ahead}) {
    SCOPED_TRACE(count);
    const Machine machine = load_machine("rda", {"units.buffer.count=" + std::to_string(count)});
    EXPECT_EQ(why_too_large(program, region, *region.graph, machine), "");
    const auto fitted = with_shallower_buffers(program, *region.graph, machine);
    EXPECT_EQ(fitted.has_value(), count < needed + ahead);
    EXPECT_FALSE(fitted && with_shallower_buffers(program, *fitted, machine));
    const ProgramRun run = run_program(program, load_tensors(program), machine, {});
    EXPECT_EQ(run.finish, Finish::done);
  }
  const Machine machine = load_machine("rda", {"units.buffer.count=" + std::to_string(needed - 1)});
  EXPECT_NE(why_too_large(program, region, *region.graph, machine), "");
}

TEST(Buffers, FallBackWhereTheMachineHasNoRoom) {
  Program program = lower_program(residual(5));
  const Region& region = program.regions[0];
  Machine machine = load_machine("rda", {});
  const int64_t all = bytes_of(program, *region.graph, machine);
  int64_t least = 0;
  for (const Node* buffer : buffers(program)) {
    least += 4 * (buffer->least > 0 ? buffer->least : buffer->capacity);
  }
  ASSERT_LT(least, all);
  int64_t before = INT64_MAX;
  for (const int64_t room : {least, least + 1, (least + all) / 2, all - 1, all}) {
    SCOPED_TRACE(room);
    machine.scratchpad.bytes = room;
    EXPECT_EQ(why_too_large(program, region, *region.graph, machine), "");
    EXPECT_LE(bytes_of(program, *region.graph, machine), room);
    EXPECT_EQ(shallower_buffers_note(program, region, machine).empty(), room == all);
    const ProgramRun run = run_program(program, load_tensors(program), machine, {});
    EXPECT_EQ(run.finish, Finish::done);
    EXPECT_LE(run.regions[0].cycles, before);
    before = run.regions[0].cycles;
    const auto fitted = with_shallower_buffers(program, *region.graph, machine);
    EXPECT_EQ(fitted.has_value(), room != all);
    if (!fitted) continue;
    EXPECT_FALSE(with_shallower_buffers(program, *fitted, machine));
    for (const Node& node : fitted->nodes) EXPECT_GE(node.capacity, node.least);
  }
  machine.scratchpad.bytes = least - 1;
  EXPECT_NE(why_too_large(program, region, *region.graph, machine), "");
}

TEST(Buffers, LeastIsKeptByText) {
  const Program program = lower_program(residual(3));
  const std::string text = print_program(program);
  EXPECT_NE(text.find(" least=206"), std::string::npos);
  EXPECT_EQ(print_program(parse_program(SourceText{"<test>", text})), text);
}

}  // namespace
}  // namespace fuseflow
