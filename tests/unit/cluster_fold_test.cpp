// Kernels and the elementwise statements that alone read them as one: which are found, when they
// are taken, that what is planned is right and never slower than one kernel a statement.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cluster/combine.h"
#include "cluster/fold.h"
#include "cluster/kernels.h"
#include "cluster/lower_plan.h"
#include "cluster/measure.h"
#include "cluster/planned_program.h"
#include "cluster/recognize.h"
#include "cluster/rest.h"
#include "cluster_program.h"
#include "machine/load.h"

namespace fuseflow::cluster {
namespace {

/// Regions of one statement each; %x [m, k], %w [k, n], %b [n], %r [m, n] are given.
std::string layer(int m, int k, int n, const std::vector<std::string>& statements) {
  const auto shape = [](int a, int b) {
    return "f32[" + std::to_string(a) + ", " + std::to_string(b) + "] dense,dense";
  };
  const std::string of = " = uniform(density=1,seed=";
  std::string text = "input %x: " + shape(m, k) + of + "1)\nconst %w: " + shape(k, n) + of +
                     "2)\nconst %b: f32[" + std::to_string(n) + "] dense" + of +
                     "3)\ninput %r: " + shape(m, n) + of + "4)\n";
  std::string regions;
  for (const std::string& s : statements) {
    const std::string name = s.substr(1, s.find('[') - 1);
    text += (name == "y" || name == "z" ? "result %" : "temp %") + name + ": " + shape(m, n) + "\n";
    regions += "region @" + name + " { " + s + " }\n";
  }
  return text + regions;
}

const std::string kProduct = "%c[i, j] = sum(k) %x[i, k] * %w[k, j]";

int64_t cycles_of(const Program& program, const Machine& machine) {
  return total_cycles(run_program(program, load_tensors(program), machine, {}), machine);
}

/// The kernels of a program, folded.
struct Folded {
  Program program;
  std::vector<FoldOutcome> outcomes;
  int64_t apart = 0;
};

/// ... on `h100`, of a layer.
Folded fold(const std::vector<std::string>& statements, int m = 64, int k = 64, int n = 64) {
  const Machine machine = load_machine("h100");
  Folded folded{parse(layer(m, k, n, statements)), {}, 0};
  EXPECT_TRUE(make_kernels(folded.program, machine).empty());
  folded.apart = cycles_of(folded.program, machine);
  folded.outcomes = fold_kernels(folded.program, machine);
  return folded;
}

TEST(FoldKernels, ALayerOfThreeStatementsIsOneKernel) {
  const Folded folded =
      fold({kProduct, "%d[i, j] = relu(%c[i, j] + %b[j])", "%y[i, j] = %d[i, j] + %r[i, j]"}, 128,
           96, 160);
  ASSERT_EQ(folded.outcomes.size(), 1U);
  const FoldOutcome& outcome = folded.outcomes[0];
  EXPECT_TRUE(outcome.taken);
  EXPECT_EQ(outcome.members.size(), 3U);
  EXPECT_EQ(outcome.apart.kernels, 3);
  EXPECT_LE(outcome.apart.total.cycles, folded.apart);  // there with what the L2 still holds
  ASSERT_EQ(folded.program.regions.size(), 1U);
  const Machine machine = load_machine("h100");
  EXPECT_EQ(cycles_of(folded.program, machine), outcome.fused.cycles);
  EXPECT_LT(outcome.fused.cycles, folded.apart);
  expect_right_and_read_again(folded.program, machine);
}

TEST(FoldKernels, WhatOthersReadIsNotFolded) {
  const Folded folded =
      fold({kProduct, "%y[i, j] = relu(%c[i, j])", "%z[i, j] = exp(%c[i, j]) + %y[i, j]"});
  EXPECT_TRUE(folded.outcomes.empty());
  EXPECT_EQ(folded.program.regions.size(), 3U);
}

/// So many statements become one kernel, and so many regions are left.
void expect_folded(const Folded& folded, size_t statements, size_t regions) {
  ASSERT_EQ(folded.outcomes.size(), 1U);
  EXPECT_EQ(folded.outcomes[0].members.size(), statements);
  EXPECT_EQ(folded.program.regions.size(), regions);
  expect_right_and_read_again(folded.program, load_machine("h100"));
}

TEST(FoldKernels, ReadersThatAreOneKernelMayBeSeveral) {
  expect_folded(fold({kProduct, "%d[i, j] = exp(%c[i, j])", "%y[i, j] = %d[i, j] * %c[i, j]"}), 3,
                1);
}

TEST(FoldKernels, TwoProductsStayTwoKernels) {
  expect_folded(
      fold({kProduct, "%d[i, j] = sum(k) %x[i, k] * %w[k, j]", "%y[i, j] = %c[i, j] * %d[i, j]"}),
      2, 2);
}

/// relu(x W) V with exp after it: a chain, which exp is no part of.
std::string chain_and_exp(int rows, int width) {
  const std::string w = std::to_string(width), m = std::to_string(rows);
  const std::string of_rows = "f32[" + m + ", " + w + "] dense,dense";
  return "input %x: " + of_rows + " = uniform(density=1,seed=1)\n" + "const %w: f32[" + w + ", " +
         w + "] dense,dense = uniform(density=1,seed=2)\ntemp %c: " + of_rows +
         "\ntemp %h: " + of_rows + "\ntemp %e: " + of_rows + "\nresult %y: " + of_rows +
         "\nregion @c { %c[i, j] = sum(k) %x[i, k] * %w[k, j] }\n"
         "region @h { %h[i, j] = relu(%c[i, j]) }\n"
         "region @e { %e[i, l] = sum(j) %h[i, j] * %w[j, l] }\n"
         "region @y { %y[i, l] = exp(%e[i, l]) }\n";
}

/// With a chain's plan, without it, and what is chosen.
void expect_the_faster(const Program& program, const Machine& machine) {
  const auto chains = find_chains(program);
  ASSERT_EQ(chains.size(), 1U);
  const Chain chain = padded(chains[0].chain);
  Effort effort;
  effort.operations = 1 << 14;
  const MeasuredPlan best = best_plan(chain, machine, Holding::one_core, effort, &chains[0].form);
  ASSERT_GT(best.rank, 0);
  Program with = program, without = program;
  ASSERT_TRUE(attach_plan(with, chains[0], {}, lower_plan(chains[0].form, chain, best.plan.plan, best.plan.analysis)));
  Program chosen = with;
  const auto dropped = drop_slow_chains(chosen, program, {find_tensor(program, "e")}, machine, {});
  plan_rest(with, machine, {});
  plan_rest(without, machine, {});
  plan_rest(chosen, machine, {});
  const int64_t least = std::min(tiles_cycles(with, machine), tiles_cycles(without, machine));
  EXPECT_EQ(tiles_cycles(chosen, machine), least);
  EXPECT_EQ(dropped.size(), tiles_cycles(without, machine) < tiles_cycles(with, machine) ? 1U : 0U);
  expect_right(chosen, machine);
}

TEST(FoldKernels, AChainGoesWhereTheRestIsFasterWithoutIt) {
  for (const int width : {32, 64, 256}) {
    expect_the_faster(parse(chain_and_exp(64, width)), load_machine("h100"));
    expect_the_faster(parse(chain_and_exp(64, width)), load_machine("rda"));
  }
}

/// Products, activations, biases, residuals and reductions of rows one after the other.
std::vector<std::string> drawn_statements(Draw& draw) {
  std::vector<std::string> statements{kProduct};
  std::string last = "c";
  const int more = draw.among(1, 4);
  for (int i = 0; i < more; ++i) {
    const std::string name = i == more - 1 ? "y" : "t" + std::to_string(i);
    const std::string at = "%" + last + "[i, j]";
    const std::vector<std::string> forms{"relu(" + at + ")", at + " + %b[j]", at + " + %r[i, j]",
                                         at + " * " + at, "exp(" + at + " * 0.01) * %r[i, j]"};
    statements.push_back(
        "%" + name + "[i, j] = " +
        forms[static_cast<size_t>(draw.among(0, static_cast<int>(forms.size()) - 1))]);
    last = name;
  }
  return statements;
}

TEST(FoldKernels, RandomLayersAreRightAndNeverSlower) {
  for (int seed = 1; seed <= 24; ++seed) {
    Draw draw(seed);
    const Machine machine = load_machine(seed % 2 == 0 ? "h100" : "rda");
    const Program given = parse(
        layer(draw.among(1, 150), draw.among(1, 90), draw.among(1, 150), drawn_statements(draw)));
    SCOPED_TRACE(print_program(given));
    const Program apart = kernels_apart(given, {}, machine);
    const Program planned = planned_program(given, {}, machine, {}, 1);
    EXPECT_LE(cycles_of(planned, machine), cycles_of(apart, machine));
    expect_right_and_read_again(planned, machine);
  }
}

}  // namespace
}  // namespace fuseflow::cluster
