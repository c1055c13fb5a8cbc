#include "cluster/chain/recognize.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cluster/chain/lower_plan.h"
#include "graph/tiles.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "machine/load.h"
#include "sim/program_run.h"
#include "sim/report/check.h"

namespace fuseflow::cluster {
namespace {

constexpr char kTensors[] = R"(fuseflow 1
input %x: f32[16, 64] dense,dense = uniform(density=1,seed=1)
input %s: f32[16, 16] dense,compressed = uniform(density=0.3,seed=1)
const %w1: f32[64, 256] dense,dense = uniform(density=1,seed=2)
const %w3: f32[64, 256] dense,dense = uniform(density=1,seed=2)
const %b1: f32[256] dense = uniform(density=1,seed=3)
const %w2: f32[256, 32] dense,dense = uniform(density=1,seed=4)
const %b2: f32[32] dense = uniform(density=1,seed=5)
input %r: f32[16, 32] dense,dense = uniform(density=1,seed=6)
temp %h: f32[16, 256] dense,dense
temp %u: f32[16, 256] dense,dense
temp %g: f32[16, 256] dense,dense
temp %o: f32[16, 32] dense,dense
result %y: f32[16, 32] dense,dense
)";

/// The tensors above that the regions define, then the regions.
Program program(const std::string& regions) {
  std::istringstream lines(kTensors);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const size_t sigil = line.find('%');
    const bool computed = line.starts_with("temp") || line.starts_with("result");
    if (!computed || regions.find(line.substr(sigil, 2) + "[") != std::string::npos) {
      text += line + "\n";
    }
  }
  return parse_program({"test", text + regions});
}

/// Any plan of the chain.
Graph graph_of(const FoundChain& found, const char* loops = "LK") {
  Plan plan;
  plan.schedule = LoopSchedule::parse(loops);
  plan.shape = {1, 2, 1, 2};
  plan.tile.value = {16, 16, 16, 16};
  const Machine machine = load_machine("h100");
  return lower_plan(found.form, found.chain, plan, analyze(found.chain, plan, machine));
}

/// Images of 196 and of 49 pixels have rows of 392 and of 98 bytes; windows have padding.
TEST(Recognize, OperandsThatThreadsGather) {
  std::vector<Chain> chains = workloads();
  chains.push_back(gemm_chain(7, 40, 65, 17, Activation::relu));
  chains.push_back(gated_ffn(5, 36, 80));
  std::string a, b, d;
  for (const Chain& chain : chains) {
    const Chain found = find_chains(chain_program(chain)).at(0).chain;
    if (found.by_threads.a) a += chain.name + " ";
    if (found.by_threads.b) b += chain.name + " ";
    if (found.by_threads.d) d += chain.name + " ";
  }
  EXPECT_EQ(a, "C3 C4 C5 C6 C7 C8 gemm_7x40x65x17 ");
  EXPECT_EQ(b, "gated_5x36x80 ");
  EXPECT_EQ(d, "gemm_7x40x65x17 ");
}

TEST(Recognize, ActivationsByTheirOperators) {
  for (const char* name : {"relu", "gelu", "silu", "sigmoid", "tanh"}) {
    const Activation activation = parse_activation(name);
    EXPECT_EQ(op_info(*operator_of(activation)).name, name);
    EXPECT_EQ(activation_of(*operator_of(activation)), activation);
  }
  EXPECT_EQ(operator_of(Activation::none), std::nullopt);
  EXPECT_EQ(activation_of(Op::hardswish), Activation::other);
  EXPECT_EQ(activation_of(Op::exp), Activation::other);
}

// Equal loads are two vectors, and equal operators are done twice, as the statement says.
TEST(Recognize, EqualPartsStayApart) {
  const Program p = program(R"(
region @h { %h[i, j] = sum(k) %x[i, k] * %w1[k, j] }
region @g { %g[i, j] = relu(%h[i, j] + %b1[j]) * relu(%h[i, j] + %b1[j]) }
region @y { %y[i, j] = sum(k) %g[i, k] * %w2[k, j] }
)");
  const auto found = find_chains(p);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].chain.bias0, 2);
  EXPECT_EQ(found[0].chain.found_work->compare, 2);
  EXPECT_EQ(found[0].chain.found_work->vector, 3);
}

TEST(Recognize, AnFfnWithBiasesActivationAndResidual) {
  Program p = program(R"(
temp %v: f32[16, 64] dense,dense
region @v { %v[i, j] = sum(k) %s[i, k] * %x[k, j] }
region @h { %h[i, j] = sum(k) %v[i, k] * %w1[k, j] + %b1[j] }
region @g { %g[i, j] = gelu(%h[i, j]) }
region @o { %o[i, j] = sum(k) %g[i, k] * %w2[k, j] + %b2[j] }
region @y { %y[i, j] = %o[i, j] + %r[i, j] }
)");
  const auto found = find_chains(p);
  ASSERT_EQ(found.size(), 1U);
  const Chain& chain = found[0].chain;
  EXPECT_EQ(chain.size, (Extents{{16, 256, 64, 32}}));
  EXPECT_EQ(chain.kind, ChainKind::gemm);
  EXPECT_EQ(chain.activation, Activation::gelu);
  EXPECT_TRUE(chain.bias0 && chain.bias1 && chain.residual);
  ASSERT_TRUE(attach_plan(p, found[0].statements, {{"cluster", "1,2,1,2"}}, graph_of(found[0])));
  ASSERT_EQ(p.regions.size(), 2U);
  EXPECT_EQ(p.regions[0].name, "v");  // the sparse product stays as it is
  EXPECT_EQ(p.regions[1].statements.size(), 4U);
  const std::string text = print_program(p);
  EXPECT_NE(text.find("plan cluster = \"1,2,1,2\""), std::string::npos);
  EXPECT_EQ(print_program(parse_program({"again", text})), text);
}

// Where there is one row, a residual is no longer than a bias: what is added second counts as of
// E's size.
TEST(Recognize, AnFfnOfOneRowWithBiasAndResidual) {
  const auto found = [](const std::string& added) {
    return find_chains(parse_program({"test", R"(fuseflow 1
input %x: f16[1, 64] dense,dense = uniform(density=1,seed=1)
const %w1: f16[64, 256] dense,dense = uniform(density=1,seed=2)
const %w2: f16[256, 32] dense,dense = uniform(density=1,seed=4)
const %b: f32[32] dense = uniform(density=1,seed=5)
input %r: f16[1, 32] dense,dense = uniform(density=1,seed=6)
temp %h: f16[1, 256] dense,dense
temp %o: f16[1, 32] dense,dense
result %y: f16[1, 32] dense,dense
region @h { %h[i, j] = relu(sum(k) %x[i, k] * %w1[k, j]) }
region @o { %o[i, j] = sum(k) %h[i, k] * %w2[k, j] }
region @y { %y[i, j] = %o[i, j] + )" + added + " }\n"}));
  };
  for (const char* added : {"%b[j] + %r[i, j]", "%r[i, j] + %b[j]"}) {
    auto chains = found(added);
    ASSERT_EQ(chains.size(), 1U);
    EXPECT_EQ(chains[0].chain.name, "y");
    EXPECT_TRUE(chains[0].chain.bias1 && chains[0].chain.residual);
    EXPECT_EQ(chains[0].chain.bytes.bias1 + chains[0].chain.bytes.residual, 6);
    chains[0].chain = padded(chains[0].chain);
    const TileRoles roles = tile_roles(graph_of(chains[0]));
    EXPECT_EQ(roles.last_loads.size(), 2U);
  }
  const auto bias = found("%b[j]");
  ASSERT_EQ(bias.size(), 1U);
  EXPECT_TRUE(bias[0].chain.bias1 && !bias[0].chain.residual);
  const auto three = found("%b[j] + %r[i, j] + %b[j]");
  ASSERT_EQ(three.size(), 1U);
  EXPECT_EQ(three[0].chain.name, "o");
}

/// A chain with `after` as the statements after its second product %o; nothing where it ends
/// before the last of them.
std::optional<Chain> chain_with(const std::string& after) {
  std::string temporaries;
  for (const std::string name : {"%p", "%q"}) {
    const bool used = after.find(name) != std::string::npos;
    if (used) temporaries += "temp " + name + ": f32[16, 32] dense,dense\n";
  }
  Program p = program(temporaries + R"(
input %t: f32[16] dense = uniform(density=1,seed=7)
const %c: f32[32] dense = uniform(density=1,seed=8)
const %n: f32[1] dense = uniform(density=1,seed=9)
region @h { %h[i, j] = relu(sum(k) %x[i, k] * %w1[k, j] + %b1[j]) }
region @y {
  %o[i, j] = sum(k) %h[i, k] * %w2[k, j]
)" + after + "\n}\n");
  const auto found = find_chains(p);
  if (found.size() != 1 || found[0].chain.name != "y") return std::nullopt;
  const std::string loops = found[0].chain.sums_alone() ? "LK" : "NLK";
  EXPECT_TRUE(attach_plan(p, found[0].statements, {}, graph_of(found[0], loops.c_str())));
  const ProgramRun run = run_program(p, load_tensors(p), load_machine("h100"), {});
  EXPECT_TRUE(check_reference(p, run.data, {find_tensor(p, "y")}, {}).tensors.at(0).passes)
      << after;
  const std::string text = print_program(p);
  EXPECT_EQ(print_program(parse_program({"again", text})), text);
  return found[0].chain;
}

/// Scales, activations, residuals, of a statement each or of one, are part of the chain.
TEST(Recognize, WhatFollowsTheSecondProduct) {
  const auto expect = [](const std::string& after, Activation activation, int vectors,
                         int tensors) {
    const auto chain = chain_with(after);
    ASSERT_TRUE(chain) << after;
    EXPECT_EQ(chain->last_activation, activation) << after;
    EXPECT_EQ(chain->bias1, vectors) << after;
    EXPECT_EQ(chain->residual, tensors) << after;
  };
  expect("%y[i, j] = relu(%o[i, j])", Activation::relu, 0, 0);
  expect("%y[i, j] = %o[i, j] * 0.5", Activation::other, 0, 0);
  expect("%y[i, j] = gelu(%o[i, j] + %b2[j]) + %r[i, j]", Activation::gelu, 1, 1);
  expect("%p[i, j] = sigmoid(%o[i, j])\n%y[i, j] = %o[i, j] * %p[i, j]", Activation::silu, 0, 0);
  expect("%p[i, j] = %o[i, j] * %c[j]\n%q[i, j] = %p[i, j] + %b2[j]\n%y[i, j] = relu(%q[i, j])",
         Activation::other, 2, 0);
  expect("%p[i, j] = %o[i, j] * %t[i]\n%y[i, j] = tanh(%p[i, j] / %n[0])", Activation::other, 1, 1);
  expect("%y[i, j] = %o[i, j] + %r[i, j] + %r[i, j] + %b2[j]", Activation::none, 1, 2);
  expect("%p[i, j] = %o[i, j] + %b2[j]\n%y[i, j] = %p[i, j] + %r[i, j]", Activation::none, 1, 1);
}

/// C is not stored, so that nothing after E can read it.
TEST(Recognize, WhatFollowsTheSecondProductReadsC) {
  std::vector<RefusedChain> refused;
  const auto found = find_chains(parse_program({"test", R"(fuseflow 1
input %x: f32[16, 64] dense,dense = dense(seed=1)
const %w: f32[64, 32] dense,dense = dense(seed=2)
const %v: f32[32, 32] dense,dense = dense(seed=3)
temp %h: f32[16, 32] dense,dense
result %y: f32[16, 32] dense,dense
region @h { %h[i, j] = relu(sum(k) %x[i, k] * %w[k, j]) }
region @y { %y[i, j] = (sum(k) %h[i, k] * %v[k, j]) + %h[i, j] }
)"}),
                                 &refused);
  EXPECT_TRUE(found.empty());
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].why, "%h would be kept on chip, and is an operand, too");
}

/// A chain ends before what reads it elsewhere or otherwise.
TEST(Recognize, WhatDoesNotFollowTheSecondProduct) {
  // The product is read at two places.
  EXPECT_FALSE(
      chain_with("%p[i, j] = %o[i, j] + %b2[j]\n"
                 "%y[i, j] = %p[i, j] * (max(k) %p[i, k])"));
  EXPECT_FALSE(chain_with("%y[i, j] = exp(%o[i, j] - (max(k) %r[i, k]))"));
}

TEST(Recognize, AFirstProductOverFourLoops) {
  const Program p = parse_program({"test", R"(fuseflow 1
input %x: f32[16, 2, 4, 2, 4] dense,dense,dense,dense,dense = uniform(density=1,seed=1)
const %w1: f32[2, 4, 2, 4, 256] dense,dense,dense,dense,dense = uniform(density=1,seed=2)
const %w2: f32[256, 32] dense,dense = uniform(density=1,seed=3)
temp %h: f32[16, 256] dense,dense
result %y: f32[16, 32] dense,dense
region @h { %h[i, j] = relu(sum(a, b, c, d) %x[i, a, b, c, d] * %w1[a, b, c, d, j]) }
region @y { %y[i, j] = sum(k) %h[i, k] * %w2[k, j] }
)"});
  const auto found = find_chains(p);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].chain.size, (Extents{{16, 256, 64, 32}}));
}

TEST(Recognize, AGatedFfnInOneStatement) {
  const Program p = program(R"(
region @y {
  %h[i, j] = sum(k) %x[i, k] * %w1[k, j]
  %u[i, j] = sum(k) %x[i, k] * %w3[k, j]
  %g[i, j] = silu(%h[i, j]) * %u[i, j]
  %y[i, j] = sum(k) %g[i, k] * %w2[k, j]
}
)");
  const auto found = find_chains(p);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].chain.kind, ChainKind::gated);
  EXPECT_EQ(found[0].chain.activation, Activation::silu);
}

// A 3x3 convolution with padding, then a 1x1 one: M = 8*8 pixels, K = 16*3*3.
TEST(Recognize, ConvolutionsAsIm2col) {
  const Program p = parse_program({"test", R"(fuseflow 1
input %p: f32[1, 16, 8, 8] dense,dense,dense,dense = uniform(density=1,seed=1)
const %k1: f32[32, 16, 3, 3] dense,dense,dense,dense = uniform(density=1,seed=2)
const %k2: f32[48, 32, 1, 1] dense,dense,dense,dense = uniform(density=1,seed=3)
temp %c: f32[1, 32, 8, 8] dense,dense,dense,dense
result %q: f32[1, 48, 8, 8] dense,dense,dense,dense
region @q {
  %c[b, o, h, w] = relu(sum(i, y, x) %p[b, i, h + y - 1, w + x - 1] * %k1[o, i, y, x])
  %q[b, o, h, w] = sum(i) %c[b, i, h, w] * %k2[o, i, 0, 0]
}
)"});
  const auto found = find_chains(p);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].chain.kind, ChainKind::conv);
  EXPECT_EQ(found[0].chain.size, (Extents{{64, 32, 144, 48}}));
}

TEST(Recognize, LeavesWhatIsNotAChain) {
  // C is used by something else too
  EXPECT_TRUE(find_chains(program(R"(
result %z: f32[16, 256] dense,dense
region @a {
  %h[i, j] = relu(sum(k) %x[i, k] * %w1[k, j])
  %z[i, j] = %h[i, j] * 2
  %y[i, j] = sum(k) %h[i, k] * %w2[k, j]
}
)"))
                  .empty());
  // a sparse operand
  EXPECT_TRUE(find_chains(program(R"(
const %ws: f32[256, 32] dense,compressed = uniform(density=0.1,seed=4)
region @a {
  %h[i, j] = relu(sum(k) %x[i, k] * %w1[k, j])
  %y[i, j] = sum(k) %h[i, k] * %ws[k, j]
}
)"))
                  .empty());
  // softmax between: a reduction that is no product
  EXPECT_TRUE(find_chains(program(R"(
temp %m: f32[16] dense
region @a {
  %h[i, j] = sum(k) %x[i, k] * %w1[k, j]
  %m[i] = max(j) %h[i, j]
  %g[i, j] = exp(%h[i, j] - %m[i])
  %y[i, j] = sum(k) %g[i, k] * %w2[k, j]
}
)"))
                  .empty());
  // different rows: a transposed use
  EXPECT_TRUE(find_chains(program(R"(
result %z: f32[256, 256] dense,dense
region @a {
  %h[i, j] = relu(sum(k) %x[i, k] * %w1[k, j])
  %z[i, j] = sum(k) %h[k, i] * %h[k, j]
}
)"))
                  .empty());
}

TEST(Recognize, DoesNotTouchScheduledOrMixedRegions) {
  Program p = program(R"(
temp %q: f32[16, 32] dense,dense
region @a {
  %h[i, j] = relu(sum(k) %x[i, k] * %w1[k, j])
  %q[i, j] = exp(%r[i, j])
}
region @b {
  %o[i, j] = sum(k) %h[i, k] * %w2[k, j]
  %y[i, j] = %o[i, j] * %q[i, j]
}
)");
  const std::string before = print_program(p);
  const auto found = find_chains(p);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(attach_plan(p, found[0].statements, {{"cluster", "x"}}, Graph{}));
  EXPECT_EQ(print_program(p), before);
}

}  // namespace
}  // namespace fuseflow::cluster
