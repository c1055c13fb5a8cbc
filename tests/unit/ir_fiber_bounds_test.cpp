// Sums that cannot be 0 because every row of the data has a positive entry: what each operator on
// the way leaves of it, and what must not be concluded.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "ir/data_facts.h"
#include "ir/fiber_bounds.h"
#include "ir/parse.h"
#include "ir/sparsity.h"
#include "tensor/survey.h"

namespace fuseflow {
namespace {

/// The bound of the last statement's reduction, its root, from the data of all inputs. The inputs'
/// facts are found first, as tools do.
float bound_of(const std::string& text) {
  const Program sources = parse_program({"test", "fuseflow 1\n" + text});
  Program program = sources;
  program.tensors =
      proved_tensors(sources, read_facts(sources, [](const Tensor&) { return true; }));
  const TensorReader reader = source_reader(sources);
  const auto definition = [&](TensorId tensor) -> const Statement* {
    for (const Region& region : program.regions) {
      for (const Statement& s : region.statements)
        if (s.result == tensor) return &s;
    }
    return nullptr;
  };
  const auto data = [&](TensorId tensor, const std::vector<bool>& along) -> std::optional<float> {
    const auto storage = reader(tensor);
    return storage == nullptr ? std::nullopt : least_fiber_maximum(*storage, along);
  };
  FiberBounds bounds(program, definition, data);
  const Statement& last = program.regions.back().statements.back();
  return bounds(last, last.root(), analyse(program, last));
}

constexpr const char* kData =
    "input %a: f32[3, 3] dense,compressed = values(0,2,0, 0,0,3, 0,0,0)\n"
    "input %i: f32[3, 3] dense,compressed = values(1,0,0, 0,1,0, 0,0,1)\n"
    "input %b: f32[3, 3] dense,dense = values(0.5,-2,0, 1,0,3, 1,0,4)\n"
    "input %w: f32[3] dense = values(0.5,4,2)\n";

/// The bound of %y[i] = sum(j) of an expression in %a[i, j], %i, %b and %w.
float bound_of_rows(const std::string& body) {
  return bound_of(fmt::format(
      "{}result %y: f32[3] dense\nregion @y {{\n  %y[i] = sum(j) ({})\n}}\n", kData, body));
}

TEST(FiberBounds, RowsOfTheData) {
  EXPECT_EQ(bound_of_rows("%i[i, j]"), 1);
  EXPECT_EQ(bound_of_rows("%i[j, i]"), 1);
  EXPECT_EQ(bound_of_rows("%a[i, j]"), 0);  // row 2 has no entry
}

TEST(FiberBounds, OperatorsOnTheWay) {
  EXPECT_EQ(bound_of_rows("%a[i, j] + %i[i, j]"), 1);
  EXPECT_EQ(bound_of_rows("%a[j, i] * 2 + %i[i, j] * %w[j]"), 0.5F);
  EXPECT_EQ(bound_of_rows("%i[i, j] / %w[i]"), 0.25F);
  EXPECT_EQ(bound_of_rows("max(%a[i, j], %i[i, j])"), 1);
  EXPECT_EQ(bound_of_rows("min(%i[i, j], 0.25)"), 0.25F);
  EXPECT_EQ(bound_of_rows("sqrt(%i[i, j] * 4)"), 2);
  EXPECT_EQ(bound_of_rows("abs(%a[i, j]) + relu(%i[i, j])"), 1);
  EXPECT_EQ(bound_of_rows("%a[i, j] + %i[i, j] > 0"), 1);
}

TEST(FiberBounds, MasksAndExponentials) {
  EXPECT_EQ(bound_of_rows("where(%i[i, j], %w[j], 0)"), 0.5F);
  EXPECT_EQ(bound_of_rows("where(%a[i, j], %w[j], 0)"), 0);
  EXPECT_NEAR(bound_of_rows("exp(%i[i, j])"), std::exp(1.0F), 1e-5);
  EXPECT_NEAR(bound_of_rows("exp(%i[i, j] - %w[j])"), std::exp(-3.0F), 1e-5);
}

/// What is less than its row's maximum by nothing: an exponential of 1.
TEST(FiberBounds, TheMaximumOfARowIsReached) {
  const auto with = [](const char* maximum, const char* sum, const char* type = "f32") {
    return bound_of(fmt::format(
        "{}temp %s: {}[3, 3] dense,compressed fill(-inf)\ntemp %x: f32[3] dense\n"
        "result %y: f32[3] dense\nregion @y {{\n"
        "  %s[i, j] = where(%i[i, j], %b[i, j] * 100, -inf)\n  %x[i] = {}\n  %y[i] = {}\n}}\n",
        kData, type, maximum, sum));
  };
  const char* const by_rows = "max(j) %s[i, j]";
  EXPECT_NEAR(with(by_rows, "sum(j) exp(%s[i, j] - %x[i])"), 1, 1e-5);
  EXPECT_NEAR(with("max(j) %s[j, i]", "sum(j) exp(%s[j, i] - %x[i])"), 1, 1e-5);
  EXPECT_EQ(with(by_rows, "sum(j) exp(%s[i, j] - %x[j])"), 0);
  EXPECT_EQ(with(by_rows, "sum(j) exp(%s[j, i] - %x[i])"), 0);
  EXPECT_EQ(with(by_rows, "sum(j) exp(%s[j, j] - %x[i])"), 0);
  EXPECT_EQ(with("min(j) %s[i, j]", "sum(j) exp(%s[i, j] - %x[i])"), 0);
  EXPECT_EQ(with(by_rows, "sum(j) exp(%s[i, j] - %x[i])", "bf16"), 0);  // stored, it is another
}

/// The maximum of masked scores where every row has an open one.
TEST(FiberBounds, MaximaOfMaskedRows) {
  const auto with = [](const char* mask) {
    return bound_of(
        fmt::format("{}result %y: f32[3] dense\nregion @y {{\n  %y[i] = max(j) "
                    "where({}, %b[i, j], -inf)\n}}\n",
                    kData, mask));
  };
  EXPECT_EQ(with("%i[i, j]"), -2);
  EXPECT_EQ(with("%a[i, j]"), -std::numeric_limits<float>::infinity());
}

TEST(FiberBounds, NothingIsConcludedOfWhatMayCancel) {
  EXPECT_LE(bound_of_rows("%b[i, j]"), 0);
  EXPECT_LE(bound_of_rows("%i[i, j] + %b[i, j]"), 0);
  EXPECT_LE(bound_of_rows("%i[i, j] - %a[i, j]"), 0);
  EXPECT_EQ(bound_of_rows("%i[i, j] * %a[i, j]"), 0);  // no common entries
  EXPECT_EQ(bound_of_rows("%a[i, j] > 0"), 0);
  EXPECT_EQ(bound_of_rows("%i[i, j] > 1"), 0);
}

TEST(FiberBounds, SubscriptsThatDoNotCoverAFiber) {
  const auto with = [](int rows, const char* body) {
    return bound_of(fmt::format("{}result %y: f32[{}] dense\nregion @y {{\n  %y[i] = {}\n}}\n",
                                kData, rows, body));
  };
  EXPECT_EQ(with(3, "sum(j) %i[i, j]"), 1);
  EXPECT_EQ(with(3, "sum(j:2) %i[i, j]"), 0);  // row 2 has its entry in column 2
  EXPECT_EQ(with(2, "sum(j:3) %i[i + 1, j]"), 0);
  EXPECT_EQ(with(3, "sum(j) %i[i, j] * %i[j, j]"), 0);
}

TEST(FiberBounds, ThroughDefinitions) {
  const auto with = [](const char* type) {
    return bound_of(fmt::format(
        "{}temp %s: {}[3, 3] dense,compressed\ntemp %t: f32[3] dense\nresult %y: f32[] scalar\n"
        "region @s {{\n  %s[i, j] = %a[j, i] + %i[i, j]\n}}\n"
        "region @t {{\n  %t[i] = sum(j) %s[j, i]\n}}\n"
        "region @y {{\n  %y = sum(i) %t[i]\n}}\n",
        kData, type));
  };
  EXPECT_EQ(with("f32"), 3);  // the largest of the column sums has %a[1, 2]
  EXPECT_EQ(with("bool"), 1);
  EXPECT_EQ(with("i8"), 0);  // an integer makes 0 of NaN
}

/// Tools write what they prove of a divisor, and nothing where a row is empty.
TEST(FiberBounds, ADivisorIsProved) {
  const auto facts = [](const char* body) {
    Program program = parse_program(
        {"test", fmt::format("fuseflow 1\n{}temp %d: f32[3] dense\n"
                             "result %y: f32[3, 3] dense,compressed\nregion @d {{\n  %d[i] = "
                             "sum(j) {}\n}}\nregion @y {{\n  %y[i, j] = %a[i, j] / %d[i]\n}}\n",
                             kData, body)});
    find_data_facts(program);
    return program.tensors[static_cast<size_t>(find_tensor(program, "d"))].facts;
  };
  EXPECT_TRUE(facts("(%a[i, j] + %i[i, j])").nonzero);
  EXPECT_FALSE(facts("%a[i, j]").nonzero);
}

}  // namespace
}  // namespace fuseflow
