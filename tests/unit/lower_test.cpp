// Lowering: small programs in the IR's text, lowered, verified and executed against the reference.
#include <gtest/gtest.h>

#include "../property/check.h"

namespace fuseflow {
namespace {

Program parse(const std::string& body) {
  return parse_program(SourceText{"<test>", "fuseflow 1\nprogram \"t\"\n" + body});
}

void expect_right(const std::string& body, double tolerance = 1e-5) {
  const Program program = parse(body);
  testing::CheckOptions options;
  options.tolerance = tolerance;
  const auto result = testing::check_program(program, testing::load_inputs(program), options);
  EXPECT_EQ(result.failure, "");
  if (!result.failure.empty()) {
    try {
      std::fputs(print_program(lower_program(program)).c_str(), stderr);
    } catch (const std::exception&) {
    }
  }
}

const char* const kGraphInputs =
    "input %a: f32[6, 6] dense,compressed facts(finite) = values(0,1,0,0,2,0, 0,0,0,0,0,0, "
    "3,0,0,1,0,0, 0,0,0,1,0,0, 1,1,1,1,1,1, 0,0,0,0,0,2)\n"
    "input %x: f32[6, 4] dense,dense facts(finite) = "
    "values(1,2,3,4,-1,-2,-3,-4,0,1,0,1,2,0,2,0,5,5,5,5,1,1,1,1)\n"
    "const %w: f32[4, 3] dense,dense facts(finite) = values(1,0,2,-1,1,0,2,2,2,0,-1,1)\n"
    "const %b: f32[3] dense facts(finite) = values(1,-1,2)\n";

TEST(Lower, ElementwiseDense) {
  expect_right(std::string(kGraphInputs) +
               "result %y: f32[6, 4] dense,dense\n"
               "region @y {\n  %y[i, j] = relu(%x[i, j]) + 1\n}\n");
}

TEST(Lower, SparseMatrixTimesDense) {
  expect_right(std::string(kGraphInputs) +
               "result %y: f32[6, 4] dense,dense\n"
               "region @y {\n  %y[i, f] = sum(j) %a[i, j] * %x[j, f]\n}\n");
}

TEST(Lower, SparseResultsDropEmptyRows) {
  expect_right(std::string(kGraphInputs) +
               "result %y: f32[6, 6] dense,compressed\n"
               "result %z: f32[6, 6] compressed,compressed\n"
               "region @y {\n  %y[i, j] = 2 * %a[i, j]\n  %z[i, j] = relu(%a[i, j] - 1)\n}\n");
}

TEST(Lower, GcnFused) {
  expect_right(std::string(kGraphInputs) +
               "temp %t0: f32[6, 4] dense,dense\ntemp %t1: f32[6, 3] dense,dense\n"
               "temp %h: f32[6, 3] dense,dense\n"
               "result %y: f32[6, 3] dense,dense\n"
               "region @y {\n"
               "  %t0[i, f] = sum(j) %a[i, j] * %x[j, f]\n"
               "  %t1[i, h] = sum(f) %t0[i, f] * %w[f, h]\n"
               "  %h[i, h] = relu(%t1[i, h] + %b[h])\n"
               "  %y[i, h] = sum(k) %a[i, k] * %h[k, h]\n}\n");
}

TEST(Lower, SoftmaxRow) {
  expect_right(std::string(kGraphInputs) +
               "temp %m: f32[6] dense\ntemp %e: f32[6, 4] dense,dense\ntemp %d: f32[6] dense\n"
               "result %y: f32[6, 4] dense,dense\n"
               "region @y {\n"
               "  %m[i] = max(j) %x[i, j]\n"
               "  %e[i, j] = exp(%x[i, j] - %m[i])\n"
               "  %d[i] = sum(j) %e[i, j]\n"
               "  %y[i, j] = %e[i, j] / %d[i]\n}\n");
}

TEST(Lower, SampledProduct) {
  expect_right(std::string(kGraphInputs) +
               "temp %s: f32[6, 6] dense,dense\n"
               "result %y: f32[6, 6] dense,compressed\n"
               "region @y {\n"
               "  %s[i, j] = sum(f) %x[i, f] * %x[j, f]\n"
               "  %y[i, j] = %a[i, j] * %s[i, j]\n}\n");
}

TEST(Lower, SelfTerm) {
  expect_right(std::string(kGraphInputs) +
               "temp %n: f32[6, 4] dense,dense\n"
               "result %y: f32[6, 3] dense,dense\n"
               "region @y {\n"
               "  %n[i, f] = sum(j) %a[i, j] * %x[j, f]\n"
               "  %y[i, h] = relu(sum(f) (%x[i, f] * %w[f, h]) + sum(g) (%n[i, g] * %w[g, h]) + "
               "%b[h])\n}\n");
}

TEST(Lower, OuterProductWithBias) {
  expect_right(std::string(kGraphInputs) +
               "result %y: f32[6, 6] dense,dense\n"
               "region @y {\n  %y[i, j] = %x[j, 1] + sum(k) %a[k, i] * %a[k, j]\n}\n");
}

TEST(Lower, UnionOfSparse) {
  expect_right(std::string(kGraphInputs) +
               "input %c: f32[6, 6] compressed,compressed = values(0,0,0,0,0,0, 1,0,1,0,0,0, "
               "0,0,0,5,0,0, 0,0,0,0,0,0, 0,0,0,0,0,0, 0,0,0,0,0,7)\n"
               "result %y: f32[6, 6] compressed,compressed\n"
               "region @y {\n  %y[i, j] = %a[i, j] + %c[i, j]\n}\n");
}

TEST(Lower, ShiftsAndPairsOfIndices) {
  expect_right(std::string(kGraphInputs) +
               "result %y: f32[5, 3] dense,dense\nresult %z: f32[2, 3] dense,dense\n"
               "result %s: f32[6] dense\n"
               "region @y {\n"
               "  %y[i:5, k:3] = %x[i + 1, k - 1] + %a[i, k + 2]\n"
               "  %z[p:2, q:3] = sum(f) %x[3*p + q, f]\n"
               "  %s[i] = %a[i, i] + %a[4, i]\n}\n");
}

TEST(Lower, ReductionsCountAbsentEntries) {
  expect_right(std::string(kGraphInputs) +
               "result %y: f32[6] dense\nresult %z: f32[6] dense\nresult %m: f32[6] dense\n"
               "result %t: f32[] scalar\n"
               "region @y {\n"
               "  %y[i] = sum(j) (%a[i, j] + 1)\n"
               "  %z[i] = max(j) (%a[i, j] - 2)\n"
               "  %m[i] = mean(j) %a[i, j]\n"
               "  %t = sum(i, j) %a[i, j]\n}\n");
}

TEST(Lower, Phases) {
  expect_right(std::string(kGraphInputs) +
               "temp %t: f32[6, 4] dense,dense\nresult %y: f32[6, 4] dense,dense\n"
               "region @y {\n  place %t = scratchpad\n"
               "  %t[i, f] = sum(j) %a[i, j] * %x[j, f]\n"
               "  %y[i, f] = sum(j) %a[i, j] * %t[j, f]\n}\n");
}

std::vector<std::string> order_of(const Program& program) {
  const RegionIndices indices = region_indices(program, 0);
  std::vector<std::string> names;
  for (const int index : default_order(indices)) names.push_back(indices.indices[index].name);
  return names;
}

TEST(RegionIndices, DefaultOrderIsGustavsons) {
  const Program program = parse(std::string(kGraphInputs) +
                                "result %y: f32[6, 4] dense,dense\n"
                                "region @y {\n  %y[i, f] = sum(j) %a[i, j] * %x[j, f]\n}\n");
  EXPECT_EQ(order_of(program), (std::vector<std::string>{"i", "j", "f"}));
}

TEST(RegionIndices, SoftmaxSharesOneLoop) {
  const Program program = parse(std::string(kGraphInputs) +
                                "temp %e: f32[6, 4] dense,dense\ntemp %d: f32[6] dense\n"
                                "result %y: f32[6, 4] dense,dense\n"
                                "region @y {\n  %e[i, j] = exp(%x[i, j])\n"
                                "  %d[i] = sum(k) %e[i, k]\n"
                                "  %y[i, j] = %e[i, j] / %d[i]\n}\n");
  EXPECT_EQ(order_of(program), (std::vector<std::string>{"i", "j"}));
}

TEST(RegionIndices, IllegalOrderNamesTheConstraint) {
  const Program program = parse(std::string(kGraphInputs) +
                                "result %y: f32[6, 4] dense,dense\n"
                                "region @y {\n  order j, i\n"
                                "  %y[i, f] = sum(j) %a[i, j] * %x[j, f]\n}\n");
  try {
    lower_region(program, 0);
    FAIL() << "the order was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("storage order of %a[i, j]"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("a legal order is i, j, f"), std::string::npos);
  }
}

/// A = B C, then E = B A, both as inner products: A is needed in two orders.
TEST(Placements, ConflictOfTwoInnerProductsIsResolved) {
  expect_right(
      "input %b: f32[3, 3] dense,compressed facts(finite) = values(1,0,2,0,0,3,4,0,0)\n"
      "input %c: f32[3, 3] dense,compressed@1,0 facts(finite) = values(0,1,0,2,0,0,0,3,4)\n"
      "result %a: f32[3, 3] dense,compressed\nresult %e: f32[3, 3] dense,compressed\n"
      "region @r {\n  place %a = memory\n"
      "  %a[i, j] = sum(k) %b[i, k] * %c[k, j]\n"
      "  %e[i, j] = sum(k) %b[i, k] * %a[k, j]\n}\n");
}

TEST(Placements, CompressedTransposeIsCopied) {
  expect_right(std::string(kGraphInputs) +
               "result %y: f32[6, 6] dense,compressed\n"
               "region @y {\n  %y[i, j] = %a[i, j] + %a[j, i]\n}\n");
}

}  // namespace
}  // namespace fuseflow
