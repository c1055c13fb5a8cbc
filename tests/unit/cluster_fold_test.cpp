// Kernels and the elementwise statements that alone read them as one: which are found, when they
// are taken, that what is planned is right and never slower than one kernel a statement.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "cluster/chain/lower_plan.h"
#include "cluster/chain/measure.h"
#include "cluster/chain/recognize.h"
#include "cluster/kernels/fold.h"
#include "cluster/kernels/kernels.h"
#include "cluster/plan.h"
#include "cluster/remaining.h"
#include "cluster_program.h"
#include "ir/print.h"
#include "machine/load.h"
#include "sanitized.h"

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

const std::string kProductOfC = "%c[i, j] = sum(k) %x[i, k] * %w[k, j]";

int64_t cycles_of(const Program& program, const Machine& machine) {
  return total_cycles(run_program(program, load_tensors(program), machine, {}), machine);
}

/// The kernels of a program, folded.
struct Folded {
  Program program;
  std::vector<KernelOutcome> outcomes;
  int64_t apart = 0;
};

/// The kernels of a layer on `h100`, folded.
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
      fold({kProductOfC, "%d[i, j] = relu(%c[i, j] + %b[j])", "%y[i, j] = %d[i, j] + %r[i, j]"},
           128, 96, 160);
  ASSERT_EQ(folded.outcomes.size(), 1U);
  const KernelOutcome& outcome = folded.outcomes[0];
  EXPECT_TRUE(outcome.taken());
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
      fold({kProductOfC, "%y[i, j] = relu(%c[i, j])", "%z[i, j] = exp(%c[i, j]) + %y[i, j]"});
  EXPECT_TRUE(folded.outcomes.empty());
  EXPECT_EQ(folded.program.regions.size(), 3U);
}

/// Expects that so many statements become one kernel, and that so many regions are left.
void expect_folded(const Folded& folded, size_t statements, size_t regions) {
  ASSERT_EQ(folded.outcomes.size(), 1U);
  EXPECT_EQ(folded.outcomes[0].members.size(), statements);
  EXPECT_EQ(folded.program.regions.size(), regions);
  expect_right_and_read_again(folded.program, load_machine("h100"));
}

TEST(FoldKernels, ReadersThatAreOneKernelMayBeSeveral) {
  expect_folded(fold({kProductOfC, "%d[i, j] = exp(%c[i, j])", "%y[i, j] = %d[i, j] * %c[i, j]"}),
                3, 1);
}

TEST(FoldKernels, TwoProductsStayTwoKernels) {
  expect_folded(fold({kProductOfC, "%d[i, j] = sum(k) %x[i, k] * %w[k, j]",
                      "%y[i, j] = %c[i, j] * %d[i, j]"}),
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

/// The program with the best plan of each of its chains, of single cores.
Program chained(const Program& program, const Machine& machine, std::vector<TensorId>& chains) {
  Program with = program;
  Effort effort;
  effort.operations = 1 << 14;
  for (const FoundChain& found : find_chains(program)) {
    const Chain chain = padded(found.chain);
    const MeasuredPlan best = best_plan(chain, machine, Holding::one_core, effort, &found.form);
    EXPECT_GT(best.rank, 0);
    const Graph graph = lower_plan(found.form, chain, best.plan.plan, best.plan.analysis);
    EXPECT_TRUE(attach_plan(with, found.statements, {}, graph));
    chains.push_back(found.statements.back());
  }
  return with;
}

/// With the plans of chains, without them, and what is chosen; so many chains go.
size_t expect_the_faster(const Program& program, const Machine& machine) {
  std::vector<TensorId> chains;
  Program with = chained(program, machine, chains);
  Program without = program, chosen = with;
  const auto dropped = drop_slow_chains(chosen, program, chains, machine, {});
  plan_remaining(with, machine, {});
  plan_remaining(without, machine, {});
  plan_remaining(chosen, machine, {});
  const int64_t least = std::min(tiles_cycles(with, machine), tiles_cycles(without, machine));
  EXPECT_LE(tiles_cycles(chosen, machine), least);
  EXPECT_EQ(dropped.empty(), tiles_cycles(chosen, machine) == tiles_cycles(with, machine));
  expect_right(chosen, machine);
  return dropped.size();
}

TEST(FoldKernels, AChainGoesWhereTheRestIsFasterWithoutIt) {
  std::set<size_t> went;
  for (const int width : {32, 64, 256}) {
    for (const char* machine : {"h100", "rda"}) {
      went.insert(expect_the_faster(parse(chain_and_exp(64, width)), load_machine(machine)));
    }
  }
  EXPECT_EQ(went, (std::set<size_t>{0, 1}));
}

/// A program of layers one after the other, each with a statement between its products that others
/// read.
std::string layers_of_chains(int layers, int width) {
  const std::string w = std::to_string(width);
  const std::string of_rows = "f32[64, " + w + "] dense,dense";
  std::string text = "input %y0: " + of_rows + " = uniform(density=1,seed=1)\nconst %w: f32[" + w +
                     ", " + w +
                     "] dense,dense = uniform(density=1,values=uniform(0,0.01),seed=2)\n";
  std::string regions;
  for (int l = 1; l <= layers; ++l) {
    const std::string n = std::to_string(l), in = "%y" + std::to_string(l - 1);
    for (const char* name : {"c", "h", "e"}) text += "temp %" + (name + n) + ": " + of_rows + "\n";
    text += "result %q" + n + ": " + of_rows + "\n";
    text += (l == layers ? "result %y" : "temp %y" + n) + ": " + of_rows + "\n";
    const std::string y = l == layers ? "y" : "y" + n;
    regions += "region @c" + n + " { %c" + n + "[i, j] = sum(k) " + in + "[i, k] * %w[k, j] }\n";
    regions += "region @h" + n + " { %h" + n + "[i, j] = relu(%c" + n + "[i, j]) }\n";
    regions += "region @q" + n + " { %q" + n + "[i, j] = exp(" + in + "[i, j]) }\n";
    regions += "region @e" + n + " { %e" + n + "[i, l] = sum(j) %h" + n + "[i, j] * %w[j, l] }\n";
    regions += "region @" + y + " { %" + y + "[i, l] = exp(%e" + n + "[i, l]) }\n";
  }
  return text + regions;
}

TEST(FoldKernels, ChainsOfEqualLayersAreComparedEachInItsPart) {
  const Machine machine = load_machine("rda");
  EXPECT_EQ(expect_the_faster(parse(layers_of_chains(1, 256)), machine), 1U);
  if (!kSanitized) {
    EXPECT_EQ(expect_the_faster(parse(layers_of_chains(3, 256)), machine), 3U);
  }
  EXPECT_EQ(expect_the_faster(parse(layers_of_chains(3, 32)), machine), 0U);
}

/// Products, activations, biases, residuals and reductions of rows one after the other.
std::vector<std::string> drawn_statements(Draw& draw) {
  std::vector<std::string> statements{kProductOfC};
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
    PlanListener unheard;
    const Program apart = plan(given, machine, {.strategy = PlanStrategy::none}, unheard);
    const Program planned = plan(given, machine, {}, unheard);
    EXPECT_LE(cycles_of(planned, machine), cycles_of(apart, machine));
    expect_right_and_read_again(planned, machine);
  }
}

}  // namespace
}  // namespace fuseflow::cluster
