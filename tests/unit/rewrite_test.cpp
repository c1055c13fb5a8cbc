// Rewrites as values: what is found, what is refused, what comes of it.
#include <gtest/gtest.h>

#include "ir/data_facts.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/reference_order.h"
#include "ir/verify.h"
#include "rewrite/canonical.h"
#include "rewrite/rewrite.h"
#include "rewrite_program.h"

namespace fuseflow {
namespace {

Program parse(const std::string& body) {
  return parse_program({"test.ff", "fuseflow 1\nprogram \"p\"\n" + body});
}

const char* const kMatrices = R"(
input %a: f32[9, 8] dense,compressed facts(finite, range(-1, 1))
input %x: f32[8, 7] dense,dense facts(finite, range(-1, 1))
input %w: f32[7, 6] dense,dense facts(finite, range(-1, 1))
temp %t: f32[9, 7] dense,dense
result %y: f32[9, 6] dense,dense
)";

const char* const kLeftFirst = R"(
region @t {
  %t[i, f] = sum(k) %a[i, k] * %x[k, f] from MatMul("/one")
}
region @y {
  %y[i, h] = sum(f) %t[i, f] * %w[f, h] from MatMul("/two")
}
)";

TEST(Rewrite, ProductsOfThreeMatricesHaveOneOtherOrder) {
  const Program program = parse(std::string(kMatrices) + kLeftFirst);
  const std::vector<Rewrite> found = rewrites(program);
  ASSERT_EQ(found.size(), 1U);
  const Rewrite& rewrite = found[0];
  EXPECT_EQ(rewrite.kind, RewriteKind::reassociate);
  EXPECT_TRUE(rewrite.reorders);
  EXPECT_EQ(rewrite.refused, "");
  EXPECT_TRUE(rewrite.assumed.empty());  // ranges prove that nothing overflows
  EXPECT_EQ(statement_texts(program, rewrite),
            (std::vector<std::string>{"%y_1[k, h] = sum(f) %x[k, f] * %w[f, h]",
                                      "%y[i, h] = sum(k) %a[i, k] * %y_1[k, h]"}));
}

/// A chain of three products, and what multiplies or divides it.
std::vector<std::string> orders_of(const std::string& value) {
  const Program program = parse(R"(
input %a: f32[9, 8] dense,dense facts(finite, range(-1, 1))
input %x: f32[8, 7] dense,dense facts(finite, range(-1, 1))
input %w: f32[7, 6] dense,dense facts(finite, range(-1, 1))
input %s: f32[9] dense facts(finite, nonzero, range(1, 2))
input %t: f32[6] dense facts(finite, nonzero, range(1, 2))
result %y: f32[9, 6] dense,dense
region @y { %y[i, h] = )" + value +
                                " }\n");
  std::vector<std::string> orders;
  for (const Rewrite& rewrite : of_kind(program, RewriteKind::reassociate)) {
    orders.push_back(statement_texts(program, rewrite).back());
    verify(applied(program, rewrite));
  }
  return orders;
}

/// Numbers go outside of the sums; they do not keep a product from being rewritten.
TEST(Rewrite, NumbersAreNoFactorsOfAnOrder) {
  const std::string chain = "sum(f) (sum(k) %a[i, k] * %x[k, f]) * %w[f, h]";
  EXPECT_EQ(orders_of(chain),
            (std::vector<std::string>{"%y[i, h] = sum(k) %a[i, k] * %y_1[k, h]"}));
  EXPECT_EQ(orders_of("3 * (2 * (" + chain + "))"),
            (std::vector<std::string>{"%y[i, h] = (sum(k) %a[i, k] * %y_1[k, h]) * 3 * 2"}));
  EXPECT_EQ(orders_of("3 / (2 * (5 * (" + chain + ")))"),
            (std::vector<std::string>{"%y[i, h] = 3 / ((sum(k) %a[i, k] * %y_1[k, h]) * 2 * 5)"}));
}

/// Where a product has too many factors, a part of it is rewritten.
TEST(Rewrite, APartOfALongProductIsRewritten) {
  const std::string chain = "sum(f) (sum(k) %a[i, k] * %x[k, f]) * %w[f, h]";
  const std::vector<std::string> orders = orders_of("%s[i] * (%t[h] * (" + chain + "))");
  EXPECT_EQ(orders.size(), 4U);  // of a, x, w and t
  for (const std::string& order : orders) EXPECT_EQ(order.find("%y[i, h] = %s[i] * "), 0U);
}

/// The furthest intermediate is left out, and then it is again one of at most four factors.
TEST(Rewrite, OfTooManyFactorsIntermediatesAreLeftOut) {
  const std::string text =
      "input %a: f32[4, 9] dense,dense facts(finite, range(-1, 1))\n"
      "input %b: f32[9, 9] dense,dense facts(finite, range(-1, 1))\n"
      "input %r: f32[4] dense facts(finite, range(-1, 1))\n"
      "temp %n: f32[4, 9] dense,dense\ntemp %s: f32[4, 9] dense,dense\n"
      "temp %t: f32[4, 9] dense,dense\nresult %y: f32[4, 9] dense,dense\n"
      "region @n { %n[i, j] = %r[i] * %a[i, j] * %r[i] }\n"
      "region @s { %s[i, j] = sum(k) %n[i, k] * %b[k, j] }\n"
      "region @t { %t[i, j] = sum(k) %s[i, k] * %b[k, j] }\n"
      "region @y { %y[i, j] = sum(k) %t[i, k] * %b[k, j] }\n";
  const Program program = parse(text);
  size_t of_y = 0;
  for (const Rewrite& rewrite : rewrites(program)) {
    if (rewrite.before != find_tensor(program, "y")) continue;
    ++of_y;
    EXPECT_TRUE(rewrite.refused.empty());
    EXPECT_EQ(rewrite.left_out, std::vector<TensorId>{find_tensor(program, "n")});
  }
  EXPECT_EQ(of_y, 4U);  // (n b) b b, the given one, has four others
}

TEST(Rewrite, KeepsWhatItCameFrom) {
  const Program program = parse(std::string(kMatrices) + kLeftFirst);
  const Program after = applied(program, rewrites(program)[0]);
  EXPECT_TRUE(after.reference.reassociated);
  ASSERT_EQ(after.reference.statements.size(), 2U);
  EXPECT_EQ(print_statement(after, after.reference.statements[0]),
            "%t[i, f] = sum(k) %a[i, k] * %x[k, f]");
  ASSERT_EQ(after.regions.size(), 2U);
  EXPECT_EQ(after.regions[0].name, "y_1");
  EXPECT_EQ(after.regions[0].statements[0].from.name, "/one");
  EXPECT_EQ(after.regions[1].statements[0].from.name, "/two");
  EXPECT_EQ(after.tensors.back().shape[1].value, 6);
  EXPECT_TRUE(after.tensors.back().facts.finite);
}

TEST(Rewrite, BackAgainKeepsTheFirstStatementsOnly) {
  const Program program = parse(std::string(kMatrices) + kLeftFirst);
  const Program once = applied(program, rewrites(program)[0]);
  std::vector<Rewrite> back = rewrites(once);
  ASSERT_EQ(back.size(), 1U);
  Program twice = applied(once, back[0]);
  remove_unused(twice, static_cast<TensorId>(program.tensors.size()));
  verify(twice);
  EXPECT_EQ(twice.tensors.size(), program.tensors.size() + 1);
  ASSERT_EQ(twice.reference.statements.size(), 2U);
  EXPECT_EQ(print_statement(twice, twice.reference.statements[1]),
            "%y[i, h] = sum(f) %t[i, f] * %w[f, h]");
  EXPECT_EQ(print_statement(twice, twice.regions[1].statements[0]),
            "%y[i, h] = sum(f) %y_2[i, f] * %w[f, h]");
}

TEST(Rewrite, FactorsThatMayBeInfiniteAreRefused) {
  std::string text = std::string(kMatrices) + kLeftFirst;
  const std::string facts = "f32[7, 6] dense,dense facts(finite, range(-1, 1))";
  text.replace(text.find(facts), facts.size(), "f32[7, 6] dense,dense");
  const std::vector<Rewrite> found = rewrites(parse(text));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].refused,
            "%w may be infinite or NaN; where it never is, `assume(finite)` says so");
}

TEST(Rewrite, SumsThatMayOverflowAreAssumedFinite) {
  std::string text = std::string(kMatrices) + kLeftFirst;
  for (size_t at; (at = text.find(", range(-1, 1)")) != std::string::npos;) text.erase(at, 14);
  const Program program = parse(text);
  const std::vector<Rewrite> found = rewrites(program);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].refused, "");
  EXPECT_EQ(found[0].assumed, (std::vector<std::string>{"%y_1 is finite", "%t is finite"}));
  const Program after = applied(program, found[0]);
  EXPECT_TRUE(after.tensors[5].assumed.finite);
  EXPECT_TRUE(after.tensors[3].assumed.finite);
  EXPECT_FALSE(after.tensors[3].facts.finite);
}

TEST(Rewrite, WhatIsReadTwiceOrAResultIsNotTakenIn) {
  const std::string again = "temp %u: f32[9, 7] dense,dense\n";
  const Program twice = parse(std::string(kMatrices) + again + kLeftFirst +
                              "region @u {\n  %u[i, f] = relu(%t[i, f])\n}\n");
  EXPECT_TRUE(of_kind(twice, RewriteKind::reassociate).empty());
  std::string text = std::string(kMatrices) + kLeftFirst;
  text.replace(text.find("temp"), 4, "result");
  EXPECT_TRUE(rewrites(parse(text)).empty());
}

TEST(Rewrite, WhatIsReadOutsideOfItsExtentIsNotTakenIn) {
  std::string text = std::string(kMatrices) + kLeftFirst;
  text.replace(text.find("%t[i, f] * %w"), 8, "%t[i, f + 1]");
  EXPECT_TRUE(of_kind(parse(text), RewriteKind::reassociate).empty());
}

TEST(Rewrite, ADivisorGoesBehindTheSum) {
  const Program program = parse(R"(
input %e: f32[5, 6] dense,dense facts(finite, range(0, 1))
input %z: f32[5] dense facts(range(1, 2))
input %v: f32[6, 3] dense,dense facts(finite, range(-1, 1))
temp %p: f32[5, 6] dense,dense
result %o: f32[5, 3] dense,dense
region @p {
  %p[i, j] = %e[i, j] / %z[i]
}
region @o {
  %o[i, d] = sum(j) %p[i, j] * %v[j, d]
}
)");
  const std::vector<Rewrite> found = of_kind(program, RewriteKind::reassociate);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(statement_texts(program, found[0]),
            (std::vector<std::string>{"%o[i, d] = (sum(j) %e[i, j] * %v[j, d]) / %z[i]"}));
  EXPECT_EQ(applied(program, found[0]).regions.size(), 1U);
}

TEST(Rewrite, ADivisorThatMayBeZeroIsRefused) {
  const Program program = parse(R"(
input %x: f32[5, 6] dense,dense facts(finite, range(0, 1))
input %s: f32[5] dense facts(finite)
result %y: f32[5] dense
region @y {
  %y[i] = sum(j) %x[i, j] / %s[i]
}
)");
  const std::vector<Rewrite> found = of_kind(program, RewriteKind::factor);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].refused, "%s may be zero; where it never is, `assume(nonzero)` says so");
}

TEST(Rewrite, FactsThatAreNotProvedAgainAreAssumed) {
  const Program program = parse(R"(
input %x: f32[5, 6] dense,dense facts(finite, range(-1, 1))
input %s: f32[5] dense facts(finite, range(-1, 1))
result %y: f32[5] dense facts(finite, nonnegative, range(0, 3))
region @y {
  %y[i] = sum(j) %x[i, j] * %s[i]
}
)");
  const std::vector<Rewrite> found = of_kind(program, RewriteKind::factor);
  ASSERT_EQ(found.size(), 1U);
  const Program after = applied(program, found[0]);
  const Tensor& y = after.tensors.back();
  EXPECT_TRUE(y.facts.finite);
  EXPECT_FALSE(y.facts.nonnegative);
  EXPECT_TRUE(y.assumed.nonnegative);
  EXPECT_GT(y.facts.largest, 3);  // rounding may leave a range
}

TEST(Rewrite, HoistsTheLargestPartThatDependsOnFewerLoops) {
  const Program program = parse(R"(
input %x: f32[5] dense
input %z: f32[5, 6] dense,dense
result %y: f32[5, 6] dense,dense
region @y {
  order j, i
  %y[i, j] = exp(%x[i] + 1) * %z[i, j] from Mul("/layer/Mul")
}
)");
  const std::vector<Rewrite> found = rewrites(program);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, RewriteKind::hoist);
  EXPECT_FALSE(found[0].reorders);
  std::vector<std::string> notes;
  const Program after = apply_rewrite(program, found[0], notes);
  EXPECT_EQ(notes,
            (std::vector<std::string>{"dropped the order of region @y: its statements change"}));
  ASSERT_EQ(after.regions.size(), 1U);
  ASSERT_EQ(after.regions[0].statements.size(), 2U);
  EXPECT_EQ(print_statement(after, after.regions[0].statements[0]), "%y_1[i] = exp(%x[i] + 1)");
  EXPECT_EQ(after.regions[0].statements[0].from.name, "/layer/Mul");
  EXPECT_FALSE(after.reference.reassociated);
}

TEST(Rewrite, CommonPartsAreReadFromOneTensor) {
  const Program program = parse(R"(
input %x: f32[5, 6] dense,dense
input %z: f32[6, 5] dense,dense
temp %a: f32[5, 6] dense,dense
temp %b: f32[6, 5] dense,dense
result %y: f32[5, 6] dense,dense
result %u: f32[6, 5] dense,dense
region @a {
  %a[i, j] = exp(%x[i, j] + %z[j, i])
}
region @b {
  %b[p, q] = exp(%z[p, q] + %x[q, p])
}
region @y {
  %y[i, j] = %a[i, j] * %b[j, i]
}
region @u {
  %u[i, j] = relu(%b[i, j])
}
)");
  const std::vector<Rewrite> found = of_kind(program, RewriteKind::common);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].tensors.empty());
  EXPECT_EQ(found[0].removed.size(), 1U);
  EXPECT_EQ(
      statement_texts(program, found[0]),
      (std::vector<std::string>{"%y[i, j] = %a[i, j] * %a[i, j]", "%u[i, j] = relu(%a[j, i])"}));
  applied(program, found[0]);
}

TEST(Rewrite, CommonPartsOfResultsBecomeAStatement) {
  const Program program = parse(R"(
input %x: f32[5] dense
result %y: f32[5] dense
result %u: f32[5] dense
region @y {
  %y[i] = exp(%x[i]) + 1
}
region @u {
  %u[k] = 2 * exp(%x[k])
}
)");
  const std::vector<Rewrite> found = rewrites(program);
  ASSERT_EQ(found.size(), 1U);
  const Program after = applied(program, found[0]);
  ASSERT_EQ(after.regions[0].statements.size(), 2U);
  EXPECT_EQ(print_statement(after, after.regions[1].statements[0]), "%u[k] = 2 * %y_1[k]");
}

TEST(Rewrite, RegionsWithGraphsAreLeftAlone) {
  Program program = parse(std::string(kMatrices) + kLeftFirst);
  program.regions[1].graph.emplace();
  EXPECT_TRUE(rewrites(program).empty());
}

/// The canonical text of the i-th statement's expression.
std::string text_of(const Program& program, size_t i) {
  const Statement& s = program.regions[0].statements[i];
  Scope scope;
  const std::vector<IndexId> places = add_indices(program, s, scope);
  const Term root = term_at(s, static_cast<int32_t>(s.nodes.size()) - 1, places);
  return CanonicalTexts(scope, root).of(root).text;
}

TEST(Canonical, NamesOfIndicesAndOrderOfCommutativeOperandsDoNotCount) {
  const Program program = parse(R"(
input %x: f32[5, 5] dense,dense
result %a: f32[5] dense
result %b: f32[5] dense
result %c: f32[5] dense
result %d: f32[5] dense
region @r {
  %a[i] = sum(j) %x[i, j] * relu(%x[j, i])
  %b[p] = sum(q) relu(%x[q, p]) * %x[p, q]
  %c[i] = sum(j) %x[j, i] * relu(%x[i, j])
  %d[i] = sum(j) (%x[i, j] - relu(%x[j, i]))
}
)");
  EXPECT_EQ(text_of(program, 0), text_of(program, 1));
  EXPECT_NE(text_of(program, 0), text_of(program, 2));
  EXPECT_NE(text_of(program, 0), text_of(program, 3));
}

TEST(ReferenceOrder, TakesTheStatementsOfTheSectionWithTheirOperandsFirst) {
  const Program program = parse(std::string(kMatrices) + kLeftFirst);
  const Program after = applied(program, rewrites(program)[0]);
  std::vector<std::string> texts;
  for (const Statement* s : reference_order(after)) texts.push_back(print_statement(after, *s));
  EXPECT_EQ(texts, (std::vector<std::string>{"%y_1[k, h] = sum(f) %x[k, f] * %w[f, h]",
                                             "%t[i, f] = sum(k) %a[i, k] * %x[k, f]",
                                             "%y[i, h] = sum(f) %t[i, f] * %w[f, h]"}));
}

}  // namespace
}  // namespace fuseflow
