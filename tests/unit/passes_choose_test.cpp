// When one cost replaces another, and which of several programs is chosen.
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "passes/choose.h"

namespace fuseflow {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

TEST(Better, FewerCyclesOrAsManyAndFewerBytes) {
  EXPECT_TRUE(better(Cost{90, 500, "", 0}, Cost{100, 100, "", 0}));
  EXPECT_TRUE(better(Cost{100, 50, "", 0}, Cost{100, 100, "", 0}));
  EXPECT_FALSE(better(Cost{100, 100, "", 0}, Cost{100, 100, "", 0}));
  EXPECT_FALSE(better(Cost{101, 50, "", 0}, Cost{100, 100, "", 0}));
}

TEST(Better, WhatDoesNotFitOrIsNotKnownReplacesNothing) {
  EXPECT_FALSE(better(Cost{kNever, 1, "", 0}, Cost{kNever, 100, "", 0}));
  EXPECT_FALSE(better(std::nullopt, Cost{100, 100, "", 0}));
  EXPECT_FALSE(better(Cost{100, 100, "", 0}, std::nullopt));
  EXPECT_TRUE(better(Cost{100, 100, "", 0}, Cost{kNever, 1, "", 0}));
}

/// What programs are estimated to take and what they take, by name.
class TableOfCosts : public CostModel {
 public:
  struct Row {
    Cost estimate;
    std::optional<double> simulated;
  };
  explicit TableOfCosts(std::map<std::string, Row> rows) : rows_(std::move(rows)) {}

  std::optional<Cost> learn(const Program& given) override { return of_program(given); }
  std::optional<Cost> of_regions(const Program& program, const std::vector<size_t>&) override {
    return of_program(program);
  }
  std::optional<Cost> guess_of_regions(const Program&, const std::vector<size_t>&) override {
    return std::nullopt;
  }
  std::optional<Cost> of_program(const Program& program) override {
    return rows_.at(program.name).estimate;
  }
  std::optional<double> simulated(const Program& program) override {
    return rows_.at(program.name).simulated;
  }
  double pause() const override { return 0; }
  double margin() const override { return 0; }
  double effort() const override { return 0; }
  void spend(double) override {}
  std::optional<Cost> of_slice(const Program& slice, const std::vector<TensorId>&,
                               const std::vector<size_t>&) override {
    return of_program(slice);
  }

 private:
  std::map<std::string, Row> rows_;
};

Cost in_doubt(double cycles, double tokens = 1) {
  Cost cost;
  cost.cycles = cycles;
  cost.tokens = tokens;
  cost.doubt = "values decide";
  return cost;
}

std::string chosen_of(const std::vector<std::string>& names,
                      const std::map<std::string, TableOfCosts::Row>& rows) {
  std::vector<Candidate> candidates;
  for (const std::string& name : names) {
    candidates.emplace_back();
    candidates.back().program.name = name;
  }
  TableOfCosts costs(rows);
  PassLog log;
  return choose(std::move(candidates), 0, "programs", costs, log).name;
}

TEST(Choose, WhereValuesDecideTheNextBestIsTried) {
  EXPECT_EQ(chosen_of({"given", "best", "next"}, {{"given", {in_doubt(100), 100}},
                                                  {"best", {in_doubt(50), 400}},
                                                  {"next", {in_doubt(60), 90}}}),
            "next");
}

TEST(Choose, OneThatIsNotSimulatedLeavesTheOthers) {
  EXPECT_EQ(chosen_of({"given", "best", "other", "next"}, {{"given", {in_doubt(100), 100}},
                                                           {"best", {in_doubt(50), 400}},
                                                           {"other", {in_doubt(55), {}}},
                                                           {"next", {in_doubt(60), 90}}}),
            "next");
}

TEST(Choose, AsManyAreSimulatedAsTakeLittle) {
  EXPECT_EQ(chosen_of({"given", "best", "large", "next"}, {{"given", {in_doubt(100, 4e6), 100}},
                                                           {"best", {in_doubt(50, 4e6), 400}},
                                                           {"large", {in_doubt(55, 4e6), 80}},
                                                           {"next", {in_doubt(60, 1e6), 90}}}),
            "next");
}

TEST(Choose, WhereTheGivenProgramDoesNotFitTheOthersAreSimulated) {
  EXPECT_EQ(chosen_of({"given", "best", "next"}, {{"given", {in_doubt(kNever), {}}},
                                                  {"best", {in_doubt(50), 400}},
                                                  {"next", {in_doubt(60), 90}}}),
            "next");
}

}  // namespace
}  // namespace fuseflow
