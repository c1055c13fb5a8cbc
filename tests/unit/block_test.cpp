// Blocked programs give the unblocked reference's results: every operator works on blocks, also on
// those that the extents cut.
#include <gtest/gtest.h>

#include "../property/check.h"

namespace fuseflow {
namespace {

struct Case {
  const char* name;
  const char* text;  ///< `B` stands for the formats' blocks, see formatted()
};

/// {0} and {1} are blocked dimensions, {2} an unblocked one: [4x3] of {0}x{1} and so on.
const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {"elementwise",
       "input %x: f32[N, M] dense,dense[4x3] = uniform(density=1, seed=1)\n"
       "input %b: f32[M] dense[3] = uniform(density=1, seed=2)\n"
       "result %y: f32[N, M] dense,dense[4x3]\n"
       "region @y {\n  %y[i, j] = relu(%x[i, j] - %b[j]) / 2 + exp(%x[i, j])\n}\n"},
      {"transposed",
       "input %x: f32[N, M] dense,dense[4x3] = uniform(density=1, seed=1)\n"
       "result %y: f32[M, N] dense,dense[3x4]\n"
       "region @y {\n  %y[j, i] = 2 * %x[i, j]\n}\n"},
      {"broadcast",
       "input %b: f32[M] dense[3] = uniform(density=1, seed=2)\n"
       "input %x: f32[N, M] dense,dense[4x3] = uniform(density=1, seed=1)\n"
       "result %y: f32[N, M] dense,dense[4x3]\n"
       "region @y {\n  %y[i, j] = %b[j] + 0 * %x[i, j]\n}\n"},
      {"matmul",
       "input %x: f32[N, K] dense,dense[4x5] = uniform(density=1, seed=1)\n"
       "input %w: f32[K, M] dense,dense[5x3] = uniform(density=1, seed=2)\n"
       "result %y: f32[N, M] dense,dense[4x3]\n"
       "region @y {\n  %y[i, j] = sum(k) %x[i, k] * %w[k, j]\n}\n"},
      {"matmul_inner",
       "input %x: f32[N, K] dense,dense[4x5] = uniform(density=1, seed=1)\n"
       "input %w: f32[K, M] dense,dense[5x3] = uniform(density=1, seed=2)\n"
       "result %y: f32[N, M] dense,dense[4x3]\n"
       "region @y {\n  order i, j, k\n  %y[i, j] = relu(sum(k) (%x[i, k] - 1) * (%w[k, j] + "
       "1))\n}\n"},
      {"spmm",
       "input %a: f32[N, K] dense,compressed[4x5] = uniform(density=0.2, seed=1)\n"
       "input %w: f32[K, M] dense,dense[5x3] = uniform(density=1, seed=2)\n"
       "result %y: f32[N, M] dense,dense[4x3]\n"
       "region @y {\n  %y[i, j] = sum(k) %a[i, k] * %w[k, j]\n}\n"},
      {"one_side",
       "input %a: f32[N, K] dense,compressed[4x1] = uniform(density=0.2, seed=1)\n"
       "input %w: f32[K, M] dense,dense[1x3] = uniform(density=1, seed=2)\n"
       "result %y: f32[N, M] dense,dense[4x3]\n"
       "region @y {\n  %y[i, j] = sum(k) %a[i, k] * %w[k, j]\n}\n"},
      {"union_compressed",
       "input %a: f32[N, K] dense,compressed[4x5] = uniform(density=0.1, seed=1)\n"
       "input %b: f32[N, K] compressed,compressed[4x5] = uniform(density=0.1, seed=2)\n"
       "result %y: f32[N, K] compressed,compressed[4x5]\n"
       "region @y {\n  %y[i, k] = %a[i, k] + 2 * %b[i, k]\n}\n"},
      {"rows",
       "input %x: f32[N, M] dense,dense[4x3] = uniform(density=1, seed=1)\n"
       "result %m: f32[N] dense[4]\nresult %s: f32[N] dense[4]\nresult %a: f32[N] dense[4]\n"
       "result %c: f32[N] dense[4]\nresult %p: f32[M] dense[3]\n"
       "region @y {\n  %m[i] = max(j) (%x[i, j] - 2)\n  %s[i] = sum(j) exp(%x[i, j])\n"
       "  %a[i] = mean(j) (%x[i, j] * %x[i, j])\n  %c[i] = min(j) (%x[i, j] + 1)\n"
       "  %p[j] = sum(i) (%x[i, j] + 1)\n}\n"},
      {"softmax",
       "input %x: f32[N, M] dense,dense[4x3] = uniform(density=1, seed=1)\n"
       "temp %m: f32[N] dense[4]\ntemp %e: f32[N, M] dense,dense[4x3]\ntemp %d: f32[N] dense[4]\n"
       "result %y: f32[N, M] dense,dense[4x3]\n"
       "region @y {\n  %m[i] = max(j) %x[i, j]\n  %e[i, j] = exp(%x[i, j] - %m[i])\n"
       "  %d[i] = sum(j) %e[i, j]\n  %y[i, j] = %e[i, j] / %d[i]\n}\n"},
      {"layernorm",
       "input %x: f32[N, M] dense,dense[4x3] = uniform(density=1, seed=1)\n"
       "input %g: f32[M] dense[3] = uniform(density=1, seed=2)\n"
       "temp %m: f32[N] dense[4]\ntemp %c: f32[N, M] dense,dense[4x3]\ntemp %v: f32[N] dense[4]\n"
       "result %y: f32[N, M] dense,dense[4x3]\n"
       "region @y {\n  %m[i] = mean(j) %x[i, j]\n  %c[i, j] = %x[i, j] - %m[i]\n"
       "  %v[i] = mean(j) (%c[i, j] * %c[i, j])\n"
       "  %y[i, j] = %c[i, j] / sqrt(%v[i] + 0.001) * %g[j]\n}\n"},
      {"attention",
       "input %q: f32[N, M] dense,dense[4x3] = uniform(density=1, seed=1)\n"
       "input %k: f32[K, M] dense,dense[5x3] = uniform(density=1, seed=2)\n"
       "input %v: f32[K, M] dense,dense[5x3] = uniform(density=1, seed=3)\n"
       "input %a: f32[N, K] dense,compressed[4x5] = uniform(density=0.3, seed=4)\n"
       "temp %s: f32[N, K] dense,compressed[4x5]\ntemp %m: f32[N] dense[4]\n"
       "temp %e: f32[N, K] dense,compressed[4x5]\ntemp %d: f32[N] dense[4]\n"
       "result %y: f32[N, M] dense,dense[4x3]\n"
       "region @y {\n  %s[i, k] = %a[i, k] * sum(f) %q[i, f] * %k[k, f]\n  %m[i] = max(k) %s[i, "
       "k]\n"
       "  %e[i, k] = %a[i, k] * exp(%s[i, k] - %m[i])\n  %d[i] = 1 + sum(k) %e[i, k]\n"
       "  %y[i, g] = sum(k) (%e[i, k] / %d[i]) * %v[k, g]\n}\n"},
      {"phases",
       "input %a: f32[N, N] dense,compressed[4x4] = uniform(density=0.2, seed=1)\n"
       "input %x: f32[N, M] dense,dense[4x3] = uniform(density=1, seed=2)\n"
       "temp %u: f32[N, M] dense,dense[4x3]\nresult %y: f32[N, M] dense,dense[4x3]\n"
       "region @y {\n  place %u = scratchpad\n  %u[i, f] = sum(j) %a[i, j] * %x[j, f]\n"
       "  %y[i, f] = sum(j) %a[i, j] * %u[j, f]\n}\n"},
      {"constant_over_a_loop",
       "input %x: f32[N] dense[4] = uniform(density=1, seed=1)\n"
       "input %w: f32[N, M] dense,dense[4x3] = uniform(density=1, seed=2)\n"
       "result %y: f32[N] dense[4]\n"
       "region @y {\n  %y[i] = sum(j) (%x[i] + 0 * %w[i, j])\n}\n"},
  };
  return kCases;
}

std::string formatted(std::string text, int n, int m, int k) {
  const std::pair<const char*, int> extents[] = {{"[N", n},   {"[M", m},   {"[K", k},
                                                 {", N]", n}, {", M]", m}, {", K]", k}};
  for (const auto& [name, extent] : extents) {
    const std::string from = name;
    std::string to = from;
    to.replace(from.find_first_of("NMK"), 1, std::to_string(extent));
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
      text.replace(at, from.size(), to);
    }
  }
  return "fuseflow 1\nprogram \"t\"\n" + text;
}

class Blocked : public ::testing::TestWithParam<size_t> {};

TEST_P(Blocked, AgreesWithTheReference) {
  const Case& c = cases()[GetParam()];
  for (const auto& [n, m, k] :
       {std::tuple(8, 6, 10), std::tuple(7, 8, 11), std::tuple(1, 1, 2), std::tuple(13, 3, 6)}) {
    for (const bool parallel : {false, true}) {
      Program program = parse_program(SourceText{"<test>", formatted(c.text, n, m, k)});
      if (parallel) program.regions[0].schedule.parallel = {{"i", 2, false}};
      testing::CheckOptions options;
      options.tolerance = 1e-5;
      const auto result = testing::check_program(program, testing::load_inputs(program), options);
      EXPECT_EQ(result.failure, "") << c.name << " " << n << " " << m << " " << k;
      const Program lowered = lower_program(program);
      EXPECT_EQ(print_program(parse_program(SourceText{"<test>", print_program(lowered)})),
                print_program(lowered));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Blocked, ::testing::Range(size_t{0}, cases().size()),
                         [](const auto& test) { return cases()[test.param].name; });

std::string refusal(const std::string& text) {
  const Program program = parse_program(SourceText{"<test>", "fuseflow 1\nprogram \"t\"\n" + text});
  return testing::check_program(program, testing::load_inputs(program), {}).failure;
}

TEST(Block, RefusesWhatCannotBeBlocked) {
  EXPECT_NE(refusal("input %x: f32[8] dense[4] = uniform(density=1, seed=1)\n"
                    "result %y: f32[8] dense\nregion @y {\n  %y[i] = %x[i]\n}\n")
                .find("blocks of 4 in %x and of 1 in %y"),
            std::string::npos);
  EXPECT_NE(refusal("input %x: f32[8] dense[4] = uniform(density=1, seed=1)\n"
                    "result %y: f32[4] dense\nregion @y {\n  %y[i:4] = %x[i + 1]\n}\n")
                .find("plain index"),
            std::string::npos);
}

}  // namespace
}  // namespace fuseflow
