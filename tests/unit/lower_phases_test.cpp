// Phases are lowered by themselves, and those of one form once: what was lowered before makes no
// difference to a graph (lower/phase.h).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "ir/parse.h"
#include "ir/print.h"
#include "lower/known_phases.h"
#include "lower/lower.h"

namespace fuseflow {
namespace {

/// Layers `relu(x w)` whose rows are scaled by their sums, each of which is stored; `format`: of
/// the weights.
Program layers(int count, const std::string& format = "dense,dense") {
  std::string tensors;
  std::string statements;
  std::string places;
  std::string from = "x";
  for (int n = 1; n <= count; ++n) {
    tensors += fmt::format(
        "const %w{0}: f32[8, 8] {1} facts(finite) = uniform(shape=[8,8],density=0.5,seed={0})\n"
        "temp %p{0}: f32[6, 8] dense,dense facts(finite)\n"
        "temp %s{0}: f32[6] dense facts(finite)\n"
        "temp %y{0}: f32[6, 8] dense,dense facts(finite)\n",
        n, format);
    statements += fmt::format(
        "  %p{0}[i, j] = relu(sum(k) %{1}[i, k] * %w{0}[k, j])\n"
        "  %s{0}[i] = sum(j) %p{0}[i, j]\n"
        "  %y{0}[i, j] = %p{0}[i, j] * %s{0}[i]\n",
        n, from);
    places += fmt::format("  place %y{} = scratchpad\n", n);
    from = fmt::format("y{}", n);
  }
  return parse_program(
      SourceText{"<test>",
                 "fuseflow 1\nprogram \"layers\"\n"
                 "input %x: f32[6, 8] dense,dense facts(finite) = dense(seed=9)\n" +
                     tensors + "result %z: f32[6, 8] dense,dense\nregion @z {\n" + places +
                     statements + fmt::format("  %z[i, j] = %{}[i, j] + 1\n}}\n", from)});
}

std::string text_of(Program program, const LowerOptions& options) {
  program.regions[0].graph = lower_region(program, 0, options);
  return print_program(program);
}

/// The text of a lowered program, which what is known must not change.
void expect_same(const Program& program, KnownPhases& known) {
  LowerOptions options;
  const std::string without = text_of(program, options);
  options.known = &known;
  EXPECT_EQ(text_of(program, options), without);
  EXPECT_EQ(text_of(program, options), without);
}

TEST(Phases, EqualLayersAreLoweredOnce) {
  KnownPhases known;
  expect_same(layers(2), known);
  const size_t of_two = known.size();
  EXPECT_EQ(of_two, 3U);  // a layer of an input, one of what is on chip, and the sum
  expect_same(layers(5), known);
  EXPECT_EQ(known.size(), of_two);
}

TEST(Phases, FormatsAndExtentsTellThemApart) {
  KnownPhases known;
  expect_same(layers(2), known);
  expect_same(layers(2, "dense,compressed"), known);
  EXPECT_EQ(known.size(), 5U);  // the sum is the same
}

TEST(Phases, OrdersTellThemApart) {
  KnownPhases known;
  const Program given = layers(2);
  expect_same(given, known);
  const size_t before = known.size();
  const OrderedLowering lowering(given, 0, {});
  std::vector<int> order(lowering.indices().indices.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(order.size() - 1 - i);
  ASSERT_FALSE(why_illegal(lowering.indices(), order));
  Program other = given;
  for (const int index : order) {
    other.regions[0].schedule.order.push_back(
        lowering.indices().indices[static_cast<size_t>(index)].name);
  }
  expect_same(other, known);
  EXPECT_GT(known.size(), before);
  expect_same(given, known);
}

TEST(Phases, OnesWithoutBuffersAreTheSameToo) {
  KnownPhases known;
  const Program given = layers(3);
  LowerOptions options;
  options.buffers = false;
  const std::string without = text_of(given, options);
  options.known = &known;
  EXPECT_EQ(text_of(given, options), without);
  expect_same(given, known);
  EXPECT_EQ(text_of(given, options), without);
}

TEST(Phases, TooManyNodesAreRefusedWhateverIsKnown) {
  KnownPhases known;
  const Program given = layers(4);
  expect_same(given, known);
  LowerOptions options;
  options.max_nodes = 60;
  EXPECT_THROW(lower_region(given, 0, options), Error);
  options.known = &known;
  EXPECT_THROW(lower_region(given, 0, options), Error);
}

/// A chain of statements, each of `uses` of the one before it, the first `stored` of them stored.
Program chain(int count, const std::string& uses, int stored) {
  std::string tensors;
  std::string statements;
  std::string places;
  std::string from = "x";
  for (int n = 1; n <= count; ++n) {
    tensors += fmt::format("temp %t{}: f32[9] dense facts(finite)\n", n);
    statements +=
        fmt::format("  %t{}[i] = {}\n", n, fmt::format(fmt::runtime(uses), fmt::arg("from", from)));
    if (n <= stored) places += fmt::format("  place %t{} = memory\n", n);
    from = fmt::format("t{}", n);
  }
  return parse_program(SourceText{"<test>",
                                  "fuseflow 1\nprogram \"chain\"\n"
                                  "input %x: f32[9] dense facts(finite) = dense(seed=9)\n" +
                                      tensors + "result %z: f32[9] dense\nregion @z {\n" + places +
                                      statements +
                                      fmt::format("  %z[i] = %{}[i] + 1\n}}\n", from)});
}

struct Refusal {
  TensorId tensor = -1;
  std::string why;
  bool operator==(const Refusal&) const = default;
};

Refusal refusal(const Program& program, const LowerOptions& options) {
  try {
    lower_region(program, 0, options);
  } catch (const LoweringConflict& conflict) {
    return {conflict.tensor(), conflict.what()};
  }
  return {};
}

TEST(Phases, ConflictsAreThoseOfTheWholeRegion) {
  KnownPhases known;
  for (const char* const uses :
       {"%{from}[i] * sum(j) %{from}[j]", "%{from}[i] + sum(j:3) %{from}[i + j]"}) {
    for (const int stored : {0, 2, 5, 10, 11}) {
      for (const size_t most : {size_t{20}, size_t{4096}}) {
        const Program program = chain(12, uses, stored);
        LowerOptions options;
        options.max_instances = most;
        const Refusal without = refusal(program, options);
        EXPECT_TRUE(stored > 0 || most > 20 || !without.why.empty());
        options.known = &known;
        EXPECT_EQ(refusal(program, options), without) << without.why;
        EXPECT_EQ(refusal(program, options), without) << without.why;
      }
    }
  }
}

}  // namespace
}  // namespace fuseflow
