// Phases by rows: what a load needs of rows that coordinates name, and what waits for them come to.
#include <gtest/gtest.h>

#include "estimate/row_needs.h"
#include "estimate/row_waits.h"

namespace fuseflow::estimate {
namespace {

using Holds = RowWait::Holds;

Level level_of(std::vector<uint32_t> pos, std::vector<uint32_t> crd) {
  Level level;
  level.kind = LevelKind::compressed;
  level.pos.assign(pos.begin(), pos.end());
  level.crd.assign(crd.begin(), crd.end());
  return level;
}

TEST(RowNeeds, OfALowerTriangleTheRowsUpToItsOwn) {
  const ListedNeeds needs = listed_needs(level_of({0, 1, 3, 6}, {0, 0, 1, 0, 1, 2}), 3, 1, 0);
  // Entries 0, 2 and 5 of 6 name a new row; a fiber needs its own.
  EXPECT_EQ(needs.entries, (std::vector<RowNeed>{{0, 1. / 3}, {2. / 6, 2. / 3}, {5. / 6, 1}}));
  EXPECT_EQ(needs.fibers, (std::vector<RowNeed>{{0, 1. / 3}, {2. / 3, 1}}));
  EXPECT_EQ(needs.number, 3);
}

TEST(RowNeeds, WhatANeedBeforeCoversIsNone) {
  const ListedNeeds needs = listed_needs(level_of({0, 2, 3}, {0, 3, 1}), 4, 1, 0);
  EXPECT_EQ(needs.entries, (std::vector<RowNeed>{{0, 1. / 4}, {1. / 3, 1}}));
  EXPECT_EQ(needs.fibers, (std::vector<RowNeed>{{0, 1}}));
}

TEST(RowWaits, TheWaitThatLeavesMostForItsTimeDecides) {
  RowWaits waits;
  waits.add({100, 1, Holds::everywhere, 0});
  waits.add({150, 0.25, Holds::everywhere, 0});
  EXPECT_EQ(waits.head(), 100);
  EXPECT_EQ(waits.end(40), 160);   // 150 and a quarter of 40
  EXPECT_EQ(waits.end(400), 500);  // 100 and all of 400
}

TEST(RowWaits, AReductionGoesOnAFiberAtATime) {
  RowWaits before;
  before.add({100, 0.9, Holds::until_reduced, 4});  // by entries
  before.add({200, 1, Holds::once_reduced, 4});     // by fibers
  EXPECT_EQ(before.head(), 0);
  EXPECT_EQ(before.end(10), 109);
  RowWaits after;
  after.add(before, 4, 10, 3);
  EXPECT_EQ(after.head(), 203);
  EXPECT_EQ(after.end(10), 213);
}

TEST(RowWaits, AReductionOfFewerFibersEndsTheOneItIsIn) {
  RowWaits before;
  before.add({100, 0.25, Holds::everywhere, 0});  // in the second of two fibers, half done
  RowWaits after;
  after.add(before, 2, 80, 0);
  EXPECT_EQ(after.end(0), 120);   // the other half of that fiber, a quarter of 80
  EXPECT_EQ(after.end(10), 125);  // all of the fiber is left
}

TEST(RowWaits, AFullBufferWaitsWithItsReader) {
  RowWaits reader;
  reader.add({100, 1, Holds::everywhere, 0, 7});
  reader.add({160, 0.25, Holds::everywhere, 0, 8});
  reader.add({900, 1, Holds::until_reduced, 4, 9});  // by entries: not known to hold a buffer
  RowWaits buffer;
  EXPECT_TRUE(buffer.add_of_reader(reader, 0.25, 2));  // which holds a quarter of the tokens
  EXPECT_EQ(buffer.head(), 0);                         // it fills first
  EXPECT_EQ(buffer.end(40), 98 + 30);                  // all but what it holds; of load 8 nothing
}

TEST(RowWaits, ABufferThatWaitsForTheSameRowsIsNotHeldForThem) {
  RowWaits buffer;
  buffer.add({90, 1, Holds::everywhere, 0, 7});
  RowWaits reader;
  reader.add(buffer, 2, 80, 5);
  EXPECT_FALSE(buffer.add_of_reader(reader, 0, 1));
  EXPECT_EQ(buffer.head(), 90);
}

}  // namespace
}  // namespace fuseflow::estimate
