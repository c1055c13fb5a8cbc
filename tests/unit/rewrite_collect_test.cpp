// Terms with a common factor: what is found, what it becomes, and what is left alone.
#include <gtest/gtest.h>

#include <set>

#include "ir/data_facts.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "rewrite/rewrite.h"
#include "rewrite_program.h"

namespace fuseflow {
namespace {

const char* const kTensors = R"(fuseflow 1
program "p"
input %a: f32[9, 8] dense,compressed facts(finite, range(-1, 1))
input %b: f32[9, 8] dense,compressed facts(finite, range(-1, 1))
input %x: f32[8, 7] dense,dense facts(finite, range(-1, 1))
input %z: f32[8, 7] dense,dense facts(finite, range(-1, 1))
input %v: f32[8, 7] dense,dense facts(finite, range(-1, 1))
input %w: f32[7, 6] dense,dense facts(finite, range(-1, 1))
input %c: f32[9, 6] dense,dense facts(finite, range(-1, 1))
input %d: f32[9] dense facts(finite, nonzero, range(1, 2))
input %s: f32[9] dense facts(finite, range(-1, 1))
)";

Program with_tensors(const std::string& body) {
  return parse_program({"test.ff", kTensors + body});
}

std::vector<Rewrite> collections(const Program& program) {
  return of_kind(program, RewriteKind::collect);
}

using Texts = std::vector<std::string>;

/// What becomes of `%y[i, f] = value`, a text each.
std::vector<Texts> collected(const std::string& value) {
  const Program program =
      with_tensors("result %y: f32[9, 7] dense,dense\nregion @y { %y[i, f] = " + value + " }\n");
  std::vector<Texts> texts;
  for (const Rewrite& rewrite : collections(program)) {
    EXPECT_TRUE(rewrite.reorders);
    EXPECT_EQ(rewrite.refused, "");
    texts.push_back(statement_texts(program, rewrite));
    applied(program, rewrite);
  }
  return texts;
}

const std::string kAx = "sum(k) %a[i, k] * %x[k, f]";
const std::string kAz = "sum(l) %a[i, l] * %z[l, f]";

TEST(Collect, TheSameMatrixOnTheLeft) {
  EXPECT_EQ(collected("(" + kAx + ") + (" + kAz + ")"),
            (std::vector<Texts>{
                {"%y_1[k, f] = %x[k, f] + %z[k, f]", "%y[i, f] = sum(k) %a[i, k] * %y_1[k, f]"}}));
}

TEST(Collect, TheSameMatrixOnTheRight) {
  EXPECT_EQ(collected("(sum(k) %a[i, k] * %x[k, f]) - (sum(l) %b[i, l] * %x[l, f])"),
            (std::vector<Texts>{
                {"%y_1[i, k] = %a[i, k] - %b[i, k]", "%y[i, f] = sum(k) %y_1[i, k] * %x[k, f]"}}));
}

/// Whatever is between the members stays, and a sign is relative to that of the first.
TEST(Collect, SignsAndOtherTerms) {
  EXPECT_EQ(collected("%s[i] - (" + kAx + ") + %d[i] - (" + kAz + ")"),
            (std::vector<Texts>{{"%y_1[k, f] = %x[k, f] + %z[k, f]",
                                 "%y[i, f] = %s[i] - sum(k) %a[i, k] * %y_1[k, f] + %d[i]"}}));
  EXPECT_EQ(collected("-(" + kAx + ") + (%s[i] - (" + kAz + "))")[0][1],
            "%y[i, f] = neg(sum(k) %a[i, k] * %y_1[k, f]) + %s[i]");
  EXPECT_EQ(collected("(" + kAx + ") - ((" + kAz + ") - %s[i])"),
            (std::vector<Texts>{{"%y_1[k, f] = %x[k, f] - %z[k, f]",
                                 "%y[i, f] = sum(k) %a[i, k] * %y_1[k, f] + %s[i]"}}));
}

TEST(Collect, NumbersStayWithTheirTerm) {
  EXPECT_EQ(collected("3 * (" + kAx + ") + (sum(l) %a[i, l] * (%z[l, f] * 0.5))"),
            (std::vector<Texts>{{"%y_1[k, f] = 3 * %x[k, f] + %z[k, f] * 0.5",
                                 "%y[i, f] = sum(k) %a[i, k] * %y_1[k, f]"}}));
  EXPECT_EQ(collected("3 * (" + kAx + ") + 3 * (" + kAz + ")"),
            (std::vector<Texts>{{"%y_1[k, f] = %x[k, f] + %z[k, f]",
                                 "%y[i, f] = (sum(k) %a[i, k] * %y_1[k, f]) * 3"}}));
}

/// A mean over neighbours: what divides the rows of both is common, too.
TEST(Collect, DivisorsAreFactors) {
  std::set<std::string> last;
  for (const Texts& texts :
       collected("(" + kAx + ") / %d[i] + (" + kAz + ") / %d[i] + %s[i] / %d[i]")) {
    last.insert(texts.back());
  }
  EXPECT_EQ(last, (std::set<std::string>{
                      // a and 1 / d, of two terms
                      "%y[i, f] = (sum(k) %a[i, k] * %y_1[k, f]) / %d[i] + %s[i] / %d[i]",
                      "%y[i, f] = sum(k) %a[i, k] / %d[i] * %y_1[k, f] + %s[i] / %d[i]",
                      // 1 / d, of all
                      "%y[i, f] = (sum(k) %a[i, k] * %x[k, f] + sum(l) %a[i, l] * %z[l, f] + "
                      "%s[i]) / %d[i]"}));
}

/// Nothing with an index would be divided.
TEST(Collect, NumbersOverTheSameStay) {
  EXPECT_TRUE(collected("(3 / %d[i] + 1 / %d[i]) * %x[1, f]").empty());
}

TEST(Collect, AWholeTermIsOnceTheFactor) {
  EXPECT_EQ(collected("(sum(k) %a[i, k] * %x[k, f]) + (sum(l) %a[i, l])")[0],
            (Texts{"%y_1[k, f] = %x[k, f] + 1", "%y[i, f] = sum(k) %a[i, k] * %y_1[k, f]"}));
  EXPECT_TRUE(collected("(" + kAx + ") + (sum(l) %a[i, l] * %x[l, f])").empty());  // 2 a x
}

TEST(Collect, IndicesHaveToStandForEachOther) {
  // The factor's free index is summed in the other term.
  EXPECT_TRUE(collected("%s[i] * %d[i] + sum(k:9) %s[k] * %x[1, f]").empty());
  // k stands for l, and not for q as well.
  EXPECT_TRUE(collected("(sum(k:7) %x[k, k] * %d[i]) + (sum(l:7, q:7) %x[l, q] * %s[i])").empty());
  // Sums over other extents.
  EXPECT_TRUE(collected("(sum(k:8) %a[i, k] * %d[i]) + (sum(l:5) %a[i, l] * %s[i])").empty());
}

TEST(Collect, BelowASumTheProductIsAStatement) {
  const Program program = with_tensors(
      "result %y: f32[9, 6] dense,dense\n"
      "region @y { %y[i, h] = sum(f) ((" +
      kAx + ") + (" + kAz + ")) * %w[f, h] }\n");
  const std::vector<Rewrite> found = collections(program);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(statement_texts(program, found[0]),
            (Texts{"%y_1[k, f] = %x[k, f] + %z[k, f]", "%y_2[i, f] = sum(k) %a[i, k] * %y_1[k, f]",
                   "%y[i, h] = sum(f) %y_2[i, f] * %w[f, h]"}));
  applied(program, found[0]);
}

const std::string kStatements = R"(
temp %t: f32[9, 7] dense,dense
temp %u: f32[9, 7] dense,dense
result %y: f32[9, 7] dense,dense
region @t {
  %t[i, f] = sum(k) %a[i, k] * %x[k, f] from MatMul("/one")
}
region @u {
  %u[p, q] = 2 * sum(k) %a[p, k] * %z[k, q] from MatMul("/two")
}
region @y {
  %y[i, f] = relu(%t[i, f] - %u[i, f]) from Relu("/act")
}
)";

TEST(Collect, AcrossStatements) {
  const Program program = with_tensors(kStatements);
  const std::vector<Rewrite> found = collections(program);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(statement_texts(program, found[0]),
            (Texts{"%y_1[k, f] = %x[k, f] - 2 * %z[k, f]",
                   "%y[i, f] = relu(sum(k) %a[i, k] * %y_1[k, f])"}));
  const Program after = applied(program, found[0]);
  ASSERT_EQ(after.regions.size(), 2U);
  EXPECT_EQ(after.regions[0].name, "y_1");
  EXPECT_EQ(after.regions[0].statements[0].from.name, "/one");
  EXPECT_TRUE(after.reference.reassociated);
  EXPECT_EQ(after.reference.statements.size(), 3U);
}

TEST(Collect, WhatIsReadTwiceIsNotTakenIn) {
  const std::string again = "result %r: f32[9, 7] dense,dense\nregion @r { %r[i, f] = %t[i, f] }\n";
  EXPECT_TRUE(collections(with_tensors(kStatements + again)).empty());
}

TEST(Collect, WhatIsNoProductOfTheFactorStaysAnIntermediate) {
  const Program program = with_tensors(R"(
temp %p: f32[8, 7] dense,dense
temp %n: f32[9, 7] dense,dense
temp %t: f32[9, 7] dense,dense
temp %u: f32[9, 7] dense,dense
result %y: f32[9, 7] dense,dense
region @p { %p[k, f] = %x[k, f] * %v[k, f] }
region @t { %t[i, f] = sum(k) %a[i, k] * %p[k, f] }
region @u { %u[i, f] = sum(k) %a[i, k] * %z[k, f] }
region @n { %n[i, f] = %t[i, f] + %u[i, f] }
region @y { %y[i, f] = %n[i, f] + %s[i] }
)");
  const std::vector<Rewrite> found = collections(program);
  ASSERT_EQ(found.size(), 1U);  // at %n, and not once more at %y
  EXPECT_EQ(found[0].replaced[0].result, find_tensor(program, "n"));
  EXPECT_EQ(statement_texts(program, found[0])[0], "%n_1[k, f] = %p[k, f] + %z[k, f]");
  EXPECT_EQ(found[0].removed.size(), 2U);
  applied(program, found[0]);
}

/// a x w + a z w: both are common, and what is left of the product has two orders.
TEST(Collect, SeveralFactorsHaveEveryOrder) {
  const Program program = with_tensors(R"(
temp %t: f32[9, 7] dense,dense
temp %q: f32[8, 6] dense,dense
temp %u: f32[9, 6] dense,dense
temp %r: f32[9, 6] dense,dense
result %y: f32[9, 6] dense,dense
region @t { %t[i, f] = sum(k) %a[i, k] * %x[k, f] }
region @u { %u[i, h] = sum(f) %t[i, f] * %w[f, h] }
region @q { %q[k, h] = sum(f) %z[k, f] * %w[f, h] }
region @r { %r[i, h] = sum(k) %a[i, k] * %q[k, h] }
region @y { %y[i, h] = %u[i, h] + %r[i, h] + %c[i, h] }
)");
  const std::vector<Rewrite> found = collections(program);
  ASSERT_EQ(found.size(), 2U);
  std::set<std::string> last;
  for (const Rewrite& rewrite : found) {
    EXPECT_EQ(rewrite.removed.size(), 4U);
    EXPECT_EQ(statement_texts(program, rewrite)[0], "%y_1[k, f] = %x[k, f] + %z[k, f]");
    last.insert(statement_texts(program, rewrite)[2]);
    applied(program, rewrite);
  }
  EXPECT_EQ(last, (std::set<std::string>{"%y[i, h] = sum(k) %a[i, k] * %y_2[k, h] + %c[i, h]",
                                         "%y[i, h] = sum(f) %y_2[i, f] * %w[f, h] + %c[i, h]"}));
}

/// Entries of a sum of compressed tensors are where either has one; its fill is the sum of theirs.
TEST(Collect, FormatsFollowFromFills) {
  const auto format_of = [](const std::string& x, const std::string& z) {
    const Program program = parse_program({"test.ff",
                                           "fuseflow 1\n"
                                           "input %a: f32[9, 8] dense,dense facts(finite)\n"
                                           "input %x: f32[8, 7] " +
                                               x +
                                               " facts(finite)\n"
                                               "input %z: f32[8, 7] " +
                                               z +
                                               " facts(finite)\n"
                                               "result %y: f32[9, 7] dense,dense\n"
                                               "region @y { %y[i, f] = (" +
                                               kAx + ") + (" + kAz + ") }\n"});
    const std::vector<Rewrite> found = collections(program);
    EXPECT_EQ(found.size(), 1U);
    const Tensor& sum = found[0].tensors[0];
    return std::pair(to_string(sum.format), sum.fill);
  };
  using Form = std::pair<std::string, float>;
  EXPECT_EQ(format_of("dense,compressed", "dense,compressed"), Form("dense,compressed", 0));
  EXPECT_EQ(format_of("dense,compressed fill(1)", "dense,compressed fill(2)"),
            Form("dense,compressed", 3));
  EXPECT_EQ(format_of("dense,compressed", "dense,dense"), Form("dense,dense", 0));
}

TEST(Collect, FactorsThatMayBeInfiniteAreRefused) {
  std::string text = kTensors + kStatements;
  const std::string facts = "%z: f32[8, 7] dense,dense facts(finite, range(-1, 1))";
  text.replace(text.find(facts), facts.size(), "%z: f32[8, 7] dense,dense");
  const std::vector<Rewrite> found = collections(parse_program({"test.ff", text}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].refused,
            "%z may be infinite or NaN; where it never is, `assume(finite)` says so");
}

/// Ranges prove that x + z is finite; without these it is assumed, and so are the old products.
TEST(Collect, WhatIsNotProvedFiniteIsAssumed) {
  EXPECT_TRUE(collections(with_tensors(kStatements))[0].assumed.empty());
  std::string text = kTensors + kStatements;
  for (size_t at; (at = text.find(", range(-1, 1)")) != std::string::npos;) text.erase(at, 14);
  const std::vector<Rewrite> found = collections(parse_program({"test.ff", text}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].assumed,
            (Texts{"%y_1 is finite", "%t is finite", "%u is finite", "%y is finite"}));
}

}  // namespace
}  // namespace fuseflow
