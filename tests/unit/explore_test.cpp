// The parts of a search that need no program: partitions, the table of trials, goals, the journal.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "explore/goals.h"
#include "explore/journal.h"
#include "explore/pareto.h"
#include "explore/programs.h"
#include "explore/promise.h"
#include "support/error.h"

namespace fuseflow {
namespace {

/// A file of this process alone: tests run beside each other.
std::string own_path(const std::string& name) {
  return fmt::format("{}/explore_{}_{}", testing::TempDir(), ::getpid(), name);
}

Machine machine_with_pause() {
  Machine machine;
  machine.reconfiguration_cycles = 10;
  return machine;
}

Trial simulated(Interval run, int64_t cycles, int64_t energy = 0, bool copies = false) {
  Trial trial;
  trial.point.first = run.first;
  trial.point.last = run.last;
  if (copies) trial.point.parallel.push_back({"i", 2, false});
  trial.result = {PointStatus::simulated, cycles, 0, 0, 0, "", energy};
  trial.take_status();
  return trial;
}

Trial open(Interval run, double bound, double estimate) {
  Trial trial;
  trial.point.first = run.first;
  trial.point.last = run.last;
  trial.bound = bound;
  trial.estimate = estimate;
  trial.least = {bound, bound, 0};
  return trial;
}

TEST(ExplorePartition, ThePauseIsBetweenRuns) {
  IntervalCosts costs(2);
  costs[{0, 0}] = 5;
  EXPECT_EQ(Partition(costs, 10).total(), kNoCost);
  EXPECT_TRUE(Partition(costs, 10).intervals().empty());
  costs[{1, 1}] = 6;
  EXPECT_EQ(Partition(costs, 10).total(), 21);
  EXPECT_EQ(Partition(costs, 10).around({0, 0}), 16);
  EXPECT_EQ(Partition(costs, 10).around({0, 1}), 0);
  costs[{0, 1}] = 20;
  EXPECT_EQ(Partition(costs, 10).intervals(), (std::vector<Interval>{{0, 1}}));
  EXPECT_EQ(Partition(costs, 0).intervals(), (std::vector<Interval>{{0, 0}, {1, 1}}));
}

TEST(ExplorePartition, TheBestIntoSoManyRuns) {
  IntervalCosts costs(3);
  for (size_t k = 0; k < 3; ++k) costs[{k, k}] = 5;
  costs[{0, 1}] = 9;
  costs[{1, 2}] = 7;
  EXPECT_TRUE(best_partition_into(1, costs).empty());
  EXPECT_EQ(best_partition_into(2, costs), (std::vector<Interval>{{0, 0}, {1, 2}}));
  EXPECT_EQ(best_partition_into(3, costs), (std::vector<Interval>{{0, 0}, {1, 1}, {2, 2}}));
  EXPECT_TRUE(best_partition_into(4, costs).empty());
  costs[{0, 2}] = 20;
  EXPECT_EQ(best_partition_into(1, costs), (std::vector<Interval>{{0, 2}}));
}

TEST(ExploreTable, LeastCostsOfARun) {
  TrialTable table(2, Machine{}, Objective::cycles);
  table.add(simulated({0, 0}, 30));
  table.add(simulated({0, 0}, 20, 0, true));
  table.add(open({0, 0}, 5, 25));
  table.add(open({0, 0}, 5, 24));
  EXPECT_EQ((table.known()[{0, 0}]), 20);
  EXPECT_EQ((table.known_streams(false)[{0, 0}]), 30);
  EXPECT_EQ((table.known()[{0, 1}]), kNoCost);
  EXPECT_EQ(table.best_estimate({0, 0}), 3U);
  EXPECT_EQ(table.best_estimate({1, 1}), std::nullopt);
  EXPECT_EQ(table.runs(), (std::vector<Interval>{{0, 0}}));
}

// First the four best of each kernel alone, then what is part of a seed, however good the rest.
TEST(ExplorePromise, KernelsAloneThenSeedsThenTheRest) {
  TrialTable table(2, Machine{}, Objective::cycles);
  table.add(open({0, 1}, 1, 5));  // the best of all, but of no seed
  Trial seed = open({0, 1}, 1, 90);
  seed.point.seed = "full";
  table.add(seed);
  const std::vector<double> alone{20, 24, 22, 23, 21};
  for (const double estimate : alone) table.add(open({0, 0}, 1, estimate));
  table.add(open({1, 1}, 1, 30));
  Trial refused = open({1, 1}, 1, 2);
  refused.status = PointStatus::failed;
  table.add(refused);
  const std::vector<size_t> order = by_promise(table);
  ASSERT_EQ(order.size(), 8U);
  const auto at = [&](size_t trial) {
    return std::find(order.begin(), order.end(), trial) - order.begin();
  };
  for (const size_t first : {2, 4, 5, 6, 7}) EXPECT_LT(at(first), 5) << first;
  EXPECT_EQ(order[5], 1U);
  // Then the points in the order of the best program around them: 5, then 24 and the other kernel's
  // 30.
  EXPECT_EQ(order[6], 0U);
  EXPECT_EQ(order[7], 3U);
  EXPECT_LT(at(2), at(6));
  EXPECT_LT(at(6), at(4));
}

/// A copy of an input (of this id) that takes so many cycles.
InputCopy copy_of(TensorId original, int64_t cycles, const Format& format = dense_format(2)) {
  InputCopy copy{original, format, {}};
  copy.takes.cycles = cycles;
  return copy;
}

// Each region pays for the copies that it reads, the program once for each.
TEST(ExplorePrograms, ACopyThatSeveralRegionsReadIsPaidOnce) {
  TrialTable table(3, machine_with_pause(), Objective::cycles);
  const auto add = [&](size_t kernel, int64_t cycles, std::vector<InputCopy> copies) {
    Trial trial = simulated({kernel, kernel}, cycles);
    trial.copies = std::move(copies);
    table.add(trial);
  };
  Format by_columns = dense_format(2);
  by_columns.mode_order = {1, 0};
  add(0, 100, {copy_of(0, 60), copy_of(1, 7)});
  add(1, 90, {copy_of(0, 60)});
  add(2, 80, {copy_of(0, 60, by_columns), copy_of(1, 7)});
  const auto cycles = [&](const TrialList& regions) {
    return amounts_together(table, regions, [](const Trial& t) { return amounts_of(t.result); })
        .cycles;
  };
  EXPECT_EQ(cycles({0}), 100);
  EXPECT_EQ(cycles({0, 1}), 100 + 10 + 90 - 60);
  EXPECT_EQ(cycles({0, 1, 2}), 100 + 10 + 90 + 10 + 80 - 60 - 7);
  EXPECT_TRUE(share_copies(table, {0, 1}));
  EXPECT_FALSE(share_copies(table, {1, 2}));  // in another format
}

// The program of a seed has the regions that cost the least; of tiles those that were planned for
// it.
TEST(ExplorePrograms, ASeedIsMadeOfItsPoints) {
  TrialTable table(2, Machine{}, Objective::cycles);
  const auto add = [&](size_t kernel, int64_t cycles, const char* seed, bool planned) {
    Trial trial = simulated({kernel, kernel}, cycles);
    trial.point.seed = seed;
    if (planned) trial.point.planned = std::make_shared<const PlannedRun>();
    table.add(trial);
  };
  add(0, 9, "none", false);
  add(0, 8, "auto", false);
  add(0, 1, "", false);
  add(0, 2, "tiles", true);
  add(1, 5, "other", true);
  add(1, 6, "tiles", true);
  const auto planned = std::make_shared<const PlannedRun>();
  const auto cost = [&](const Trial& t) { return table.cost(t); };
  const Seed streams{"none", {{0, 0, {}, false}}};
  EXPECT_EQ(trials_of(table, streams, cost), (TrialList{1}));
  const Seed mixed{"tiles", {{0, 0, {}, false}, {1, 1, {}, false, planned}}};
  EXPECT_EQ(trials_of(table, mixed, cost), (TrialList{1, 5}));
  const Seed lacking{"tiles", {{0, 0, {}, false}, {1, 1, {}, false}}};
  EXPECT_FALSE(trials_of(table, lacking, cost));
}

TEST(ExploreGoals, AFusedPointHasToBeatTheBestProgram) {
  TrialTable table(2, machine_with_pause(), Objective::cycles);
  table.add(simulated({0, 0}, 30));
  table.add(simulated({1, 1}, 40));
  const Trial fused = open({0, 1}, 70, 75);
  table.add(fused);
  const Goals goals(table);
  EXPECT_EQ(goals.incumbent(), 80);  // the pause included
  EXPECT_EQ(goals.of(fused).cost, 80);
  EXPECT_EQ(cycles_to_beat(goals.of(fused), Objective::cycles), 80);
  EXPECT_EQ(cycles_to_beat(goals.of(fused), Objective::energy), 0);
}

TEST(ExploreGoals, AKernelAloneHasToBeatItself) {
  TrialTable table(1, Machine{}, Objective::cycles);
  table.add(simulated({0, 0}, 30));
  table.add(simulated({0, 0}, 20, 0, true));
  const Goals goals(table);
  EXPECT_EQ(goals.of(open({0, 0}, 1, 1)).cost, 30);
  EXPECT_EQ(goals.of(simulated({0, 0}, 1, 0, true)).cost, 20);
}

TEST(ExploreGoals, OfAProductWhatIsDominatedIsLeftOut) {
  TrialTable table(1, Machine{}, Objective::edp);
  table.add(simulated({0, 0}, 30, 30));
  EXPECT_EQ(Goals(table).of(open({0, 0}, 30, 30)).cost, 0);
  EXPECT_EQ(Goals(table).of(open({0, 0}, 29, 30)).cost, kNoCost);
}

const SearchIdentity kSearch{"1", "2", "3", "4", "5"};

TEST(ExploreJournal, ACutRunSaysNothingOfALongerOne) {
  const std::string path = own_path("record.journal");
  std::remove(path.c_str());
  {
    Journal journal(path, kSearch);
    journal.append(1, {PointStatus::cut, 50, 0, 0, 0, ""});
    journal.append(2, {PointStatus::simulated, 70, 0, 0, 0, ""});
  }
  const Journal journal(path, kSearch);
  EXPECT_FALSE(journal.has(0));
  EXPECT_FALSE(journal.known(1, 0));
  EXPECT_FALSE(journal.known(1, 51));
  EXPECT_EQ(journal.known(1, 40)->cycles, 40);
  EXPECT_EQ(journal.known(2, 0)->cycles, 70);
  EXPECT_EQ(journal.known(2, 70)->status, PointStatus::cut);
  EXPECT_EQ(journal.known(2, 71)->status, PointStatus::simulated);
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What a journal of these lines says when it is opened; empty if it is taken.
std::string refusal_of(const std::string& text) {
  const std::string path = own_path("journal.refused");
  std::ofstream(path) << text;
  try {
    Journal journal(path, kSearch);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(text_of_file(path), text);  // it is left as it was
    return error.what();
  }
}

const std::string kHeader = "fuseflow-explore journal 5 " + text_of(kSearch) + "\n";

TEST(ExploreJournal, ATornLineCostsItsPointAlone) {
  const std::string path = own_path("journal.torn");
  const std::string whole = kHeader + "result,1,cut,50,0,0,0,,0\nresult,2,simulated,70,1,2,3,,4\n";
  for (size_t length = 0; length <= whole.size(); ++length) {
    std::ofstream(path) << whole.substr(0, length);
    {
      Journal journal(path, kSearch);
      const size_t lines = length == whole.size()                 ? 2
                           : length >= whole.find("result,2,sim") ? 1
                                                                  : 0;
      EXPECT_EQ(journal.found().size(), lines) << length;
      journal.append(3, {PointStatus::simulated, 9, 0, 0, 0, ""});
    }
    EXPECT_EQ(Journal(path, kSearch).found().at(3).cycles, 9) << length;
  }
}

TEST(ExploreJournal, RefusesWhatNoSearchHasWrittenAndLeavesIt) {
  EXPECT_NE(refusal_of("precious").find("no journal"), std::string::npos);
  EXPECT_NE(refusal_of("precious\n").find("no journal"), std::string::npos);
  EXPECT_NE(refusal_of("fuseflow-explore journal 2 0123456789abcdef\n").find("another version"),
            std::string::npos);
  EXPECT_NE(refusal_of(kHeader + "result,1,simulated,0,0,0,0,,0\n").find("cycles `0`"),
            std::string::npos);
  EXPECT_NE(refusal_of(kHeader + "result,1,simulated,-5,0,0,0,,0\n").find("cycles `-5`"),
            std::string::npos);
  EXPECT_NE(refusal_of(kHeader + "torn\nresult,1,simulated,5,0,0,0,,0\n").find("no kind"),
            std::string::npos);
  EXPECT_EQ(refusal_of(kHeader + "result,1,simulated,5,0,0,0,,0\n"), "");
}

TEST(ExploreJournal, KeepsWhatWasWorkedOut) {
  const std::string path = own_path("journal.memo");
  std::remove(path.c_str());
  const EstimatedPoint estimated{false, 0xfedcba9876543210, "a, \"b\"", "", {0.1, 2, 3}, {4, 5, 6}};
  const std::vector<StoredSet> sets = {
      {"%a=memory", {{3, -1, Placement::memory}, {4, 2, Placement::scratchpad}}, {"i, j", "k"}},
      {"none", {}, {}}};
  const std::vector<CopiedPoint> copies = {{7, {{"i", 2, false}, {"j,k", 4, true}}}};
  {
    Journal journal(path, kSearch);
    journal.append(memo_line(11, estimated));
    journal.append(memo_line({2, {1, 2}}, sets));
    journal.append(memo_line({1, {3, 4}}, copies));
    journal.append(memo_line("auto 1", Amounts{1e17, 0.5, 8}));
  }
  const Journal again(path, kSearch);
  const Memo& memo = again.memo();
  EXPECT_EQ(memo.estimates.at(11).graph, estimated.graph);
  EXPECT_EQ(memo.estimates.at(11).region, estimated.region);
  EXPECT_EQ(memo.estimates.at(11).expected.cycles, 0.1);
  EXPECT_EQ(memo.estimates.at(11).least.dram_bytes, 6);
  const std::vector<StoredSet>& read = memo.sets.at({2, {1, 2}});
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].order, sets[0].order);
  ASSERT_EQ(read[0].placements.size(), 2U);
  EXPECT_EQ(read[0].placements[1].consumer, 2);
  EXPECT_EQ(read[0].placements[1].placement, Placement::scratchpad);
  EXPECT_TRUE(read[1].placements.empty() && read[1].order.empty());
  ASSERT_EQ(memo.copies.at({1, {3, 4}}).size(), 1U);
  EXPECT_EQ(memo.copies.at({1, {3, 4}})[0].base, 7U);
  EXPECT_EQ(memo.copies.at({1, {3, 4}})[0].parallel[1].index, "j,k");
  EXPECT_TRUE(memo.copies.at({1, {3, 4}})[0].parallel[1].contiguous);
  EXPECT_EQ(memo.wholes.at("auto 1").cycles, 1e17);
  EXPECT_NE(refusal_of(kHeader + "estimate,1,possible,xyz,r,,1,1,1,1,1,1\n").find("hexadecimal"),
            std::string::npos);
  EXPECT_NE(refusal_of(kHeader + "whole,auto,-1,0,0\n").find("`-1`"), std::string::npos);
  EXPECT_NE(refusal_of(kHeader + "whole,auto,0,0,0\n").find("fewer cycles"), std::string::npos);
  EXPECT_NE(refusal_of(kHeader + "sets,1,1,2,a,nowhere\n").find("placement `nowhere`"),
            std::string::npos);
}

TEST(ExploreJournal, SaysWhatDiffers) {
  SearchIdentity other = kSearch;
  other.data = "9";
  EXPECT_NE(refusal_of("fuseflow-explore journal 5 " + text_of(other) + "\n")
                .find("another search: the data are others"),
            std::string::npos);
  other.machine = "9";
  EXPECT_EQ(difference(text_of(other), kSearch), "the data and the machine are others");
  EXPECT_EQ(difference(text_of(kSearch), kSearch), "");
}

TEST(ExploreJournal, HasOneWriter) {
  const std::string path = own_path("journal.locked");
  std::remove(path.c_str());
  const Journal journal(path, kSearch);
  EXPECT_THROW(Journal(path, kSearch), Error);
}

TEST(ExploreFront, WhatIsTooLongIsThinnedOutBetweenItsEnds) {
  constexpr int64_t kPoints = kMostOnFront + 1000;
  std::vector<Trial> trials;
  for (int64_t i = 1; i <= kPoints; ++i) trials.push_back(simulated({0, 0}, i, kPoints + 1 - i));
  const std::vector<ParetoProgram> front = pareto_front(trials, 1, {});
  ASSERT_EQ(front.size(), kMostOnFront);
  EXPECT_EQ(front.front().amounts.cycles, 1);
  EXPECT_EQ(front.back().amounts.cycles, kPoints);
  for (size_t i = 1; i < front.size(); ++i) {
    EXPECT_LT(front[i - 1].amounts.cycles, front[i].amounts.cycles);
    EXPECT_LE(front[i].amounts.cycles - front[i - 1].amounts.cycles, 2);  // evenly
  }
}

}  // namespace
}  // namespace fuseflow
