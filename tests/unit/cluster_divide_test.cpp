// Statements of several reductions, divided into kernels of one each: beside each other, one within
// another, and with what was given kept for checks.
#include "cluster/kernels/divide.h"

#include <gtest/gtest.h>

#include "cluster/kernels/kernels.h"
#include "cluster_program.h"
#include "machine/load.h"

namespace fuseflow::cluster {
namespace {

std::string program_of(const std::string& statement, const std::string& result = "f32[9, 14]",
                       const std::string& levels = "dense,dense") {
  return "input %a: f32[9, 20] dense,dense = uniform(density=1,seed=1)\n"
         "input %b: f32[9, 33] dense,dense = uniform(density=1,seed=2)\n"
         "const %v: f32[20, 14] dense,dense = uniform(density=1,seed=3)\n"
         "const %w: f32[33, 14] dense,dense = uniform(density=1,seed=4)\n"
         "const %c: f32[14] dense = uniform(density=1,seed=5)\n"
         "result %y: " +
         result + " " + levels + "\nregion @y { " + statement + " }\n";
}

/// Divided, every statement a kernel, and right.
Program divided(const std::string& text, size_t reductions) {
  Program program = parse(text);
  const Machine machine = load_machine("h100", {});
  const std::vector<DividedStatement> all = divide_statements(program, machine);
  EXPECT_EQ(all.size(), 1U);
  if (!all.empty()) {
    EXPECT_EQ(all[0].reductions, reductions);
  }
  const size_t statements = program.regions[0].statements.size();
  EXPECT_EQ(statements, reductions);
  EXPECT_EQ(program.reference.statements.size(), 1U);
  EXPECT_TRUE(make_kernels(program, machine).empty());
  EXPECT_EQ(program.regions.size(), reductions);
  expect_right_and_read_again(program, machine);
  return program;
}

TEST(Divide, TwoProducts) {
  const Program program = divided(
      program_of("%y[i, j] = sum(k) %a[i, k] * %v[k, j] + sum(l) %b[i, l] * %w[l, j] + %c[j]"), 2);
  EXPECT_EQ(print_statement(program, program.regions[1].statements[0]),
            "%y[i, j] = %y_1[i, j] + sum(l) %b[i, l] * %w[l, j] + %c[j]");
}

TEST(Divide, ThreeBesideEachOther) {
  divided(program_of("%y[i, j] = (sum(k) %a[i, k] * %v[k, j]) * (max(l) %b[i, l]) + "
                     "min(m) (%b[i, m] * %c[j])"),
          3);
}

TEST(Divide, OneWithinAnother) {
  divided(program_of("%y[i] = max(j) (%c[j] + sum(k) %a[i, k] * %v[k, j])", "f32[9]", "dense"), 2);
  divided(program_of("%y[i] = sum(k) exp(%a[i, k] - (max(l) %a[i, l]))", "f32[9]", "dense"), 2);
}

TEST(Divide, OneReductionStays) {
  Program program = parse(program_of("%y[i, j] = sum(k) %a[i, k] * %v[k, j] + %c[j]"));
  EXPECT_TRUE(divide_statements(program, load_machine("h100", {})).empty());
  EXPECT_TRUE(program.reference.statements.empty());
}

/// Nothing is won where another statement of the region has no form.
TEST(Divide, WhatStaysInStreamsIsKept) {
  std::string text = program_of(
      "%y[i, j] = sum(k) %a[i, k] * %v[k, j] + sum(l) %b[i, l] * %w[l, j] }\n"
      "region @z { %z[i, j] = sum(k) %s[i, k] * %v[k, j] + sum(l) %b[i, l] * %w[l, j]");
  text =
      "result %z: f32[9, 14] dense,dense\n"
      "input %s: f32[9, 20] dense,compressed = uniform(density=0.5,seed=6)\n" +
      text;
  Program program = parse(text);
  const std::vector<DividedStatement> all = divide_statements(program, load_machine("h100", {}));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].result, find_tensor(program, "y"));
  EXPECT_EQ(program.regions[1].statements.size(), 1U);
}

/// What is lowered or scheduled already is left alone.
TEST(Divide, AScheduleIsKept) {
  Program program =
      parse(program_of("order i, j, k, l\n"
                       "%y[i, j] = sum(k) %a[i, k] * %v[k, j] + sum(l) %b[i, l] * %w[l, j]"));
  EXPECT_TRUE(divide_statements(program, load_machine("h100", {})).empty());
}

}  // namespace
}  // namespace fuseflow::cluster
