// Which rewrites are counted: not those that statistics expect to be far slower, and too large to
// be counted.
#include <gtest/gtest.h>

#include "ir/parse.h"
#include "passes/rewrite.h"

namespace fuseflow {
namespace {

/// A product of three matrices, which has one other order.
Program chain_of_three() {
  return parse_program({"test.ff", R"(fuseflow 1
input %a: f32[9, 8] dense,compressed facts(finite, range(-1, 1)) = zeros()
input %x: f32[8, 7] dense,dense facts(finite, range(-1, 1)) = zeros()
input %w: f32[7, 6] dense,dense facts(finite, range(-1, 1)) = zeros()
temp %t: f32[9, 7] dense,dense
result %y: f32[9, 6] dense,dense
region @t {
  %t[i, f] = sum(k) %a[i, k] * %x[k, f]
}
region @y {
  %y[i, h] = sum(f) %t[i, f] * %w[f, h]
}
)"});
}

/// Cycles and tokens, of the given program and of every other.
struct Known {
  Cost given, other;
};

/// Gives what it was told to, and writes down what it was asked.
class ToldCosts final : public CostModel {
 public:
  ToldCosts(Known counted, std::optional<Known> guessed)
      : counted_(counted), guessed_(std::move(guessed)) {}

  std::optional<Cost> learn(const Program& given) override { return of_program(given); }
  std::optional<Cost> of_regions(const Program& /*program*/,
                                 const std::vector<size_t>& /*regions*/) override {
    return std::nullopt;
  }
  std::optional<Cost> guess_of_regions(const Program& program,
                                       const std::vector<size_t>& /*regions*/) override {
    ++guesses;
    if (!guessed_) return std::nullopt;
    return is_given(program) ? guessed_->given : guessed_->other;
  }
  std::optional<Cost> of_program(const Program& program) override {
    others_counted += is_given(program) ? 0 : 1;
    return is_given(program) ? counted_.given : counted_.other;
  }
  double pause() const override { return 0; }
  double margin() const override { return 0; }
  double effort() const override { return 0; }
  void spend(double /*effort*/) override {}
  std::optional<Cost> of_slice(const Program& /*slice*/, const std::vector<TensorId>& /*tensors*/,
                               const std::vector<size_t>& /*regions*/) override {
    return std::nullopt;
  }

  int guesses = 0;
  int others_counted = 0;

 private:
  static bool is_given(const Program& program) {
    return program.tensors[static_cast<size_t>(program.regions[0].statements[0].result)].name ==
           "t";
  }

  const Known counted_;
  const std::optional<Known> guessed_;
};

Cost cost(double cycles, double tokens) {
  Cost made;
  made.cycles = cycles;
  made.tokens = tokens;
  return made;
}

/// Whether the other order was counted; it would be slower.
bool counts_other(double given_tokens, const std::optional<Known>& guessed) {
  ToldCosts costs({cost(100, given_tokens), cost(200, 5e6)}, guessed);
  PassLog log;
  const Program given = chain_of_three();
  rewrite_by_cost(given, Machine(), true, costs, log);
  return costs.others_counted > 0;
}

TEST(RewriteByCost, WhatIsFarSlowerAndLargeIsNotCounted) {
  constexpr double kLarge = 3e6, kUsual = 1e6;
  EXPECT_FALSE(counts_other(kUsual, Known{cost(100, kUsual), cost(310, kLarge)}));
  EXPECT_TRUE(counts_other(kUsual, Known{cost(100, kUsual), cost(290, kLarge)}));
  EXPECT_TRUE(counts_other(kUsual, Known{cost(100, kUsual), cost(310, kUsual)}));
  EXPECT_TRUE(counts_other(kUsual, std::nullopt));  // statistics expect nothing
}

TEST(RewriteByCost, NothingIsGuessedForASmallProgram) {
  ToldCosts costs({cost(100, 1e4), cost(200, 1e4)}, Known{cost(1, 1e4), cost(1e9, 1e9)});
  PassLog log;
  rewrite_by_cost(chain_of_three(), Machine(), true, costs, log);
  EXPECT_GT(costs.others_counted, 0);
  EXPECT_EQ(costs.guesses, 0);
}

}  // namespace
}  // namespace fuseflow
