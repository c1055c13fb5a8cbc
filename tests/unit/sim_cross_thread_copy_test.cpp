// What passes from one thread to another arrives as it was given.
#include <gtest/gtest.h>

#include <vector>

#include "sim/threads/cross_thread_copy.h"
#include "sim_chunk.h"

namespace fuseflow::engine {
namespace {

void expect_arrives(const Chunk& chunk, const Segment& given, bool runs) {
  CrossThreadCopy copier;
  Port port;
  port.elsewhere = true;
  const Segment copy = copier.copy(given, true);
  EXPECT_EQ(copy.payload.run_length != nullptr, runs);
  EXPECT_NE(copy.structure, given.structure);
  EXPECT_NE(copy.arrivals.times, given.arrivals.times);
  port.push(copy);
  ASSERT_EQ(port.ready(), given.count);
  const Batch batch = port.batch(given.count);
  EXPECT_EQ(batch.begin, given.begin);
  for (uint32_t k = 0; k < given.count; ++k) {
    EXPECT_EQ(batch.payload.words()[k], chunk.words[given.begin + k]) << k;
    EXPECT_EQ(batch.arrivals.at(k), given.arrivals.at(k)) << k;
  }
  size_t s = given.first_stop;
  for (const Stop& stop : batch.stops) EXPECT_EQ(stop.at, given.structure->stops[s++].at);
}

void expect_all_parts_arrive(const Chunk& chunk, bool runs) {
  expect_arrives(chunk, chunk.segment, runs);
  const uint32_t count = chunk.segment.count;
  for (const uint32_t first : {1U, 7U, 100U}) {
    expect_arrives(chunk, chunk.part(first, count - first), runs);
    expect_arrives(chunk, chunk.part(first, 31), runs);
  }
}

const std::vector<uint32_t> kLong = {90, 0, 70, 333, 1, 64};

TEST(CrossThreadCopy, RunsAreEncoded) {
  expect_all_parts_arrive(Chunk(kLong, [](uint32_t f, uint32_t k) { return 1000 * f + k; }), true);
}

TEST(CrossThreadCopy, RepetitionsAreEncoded) {
  expect_all_parts_arrive(Chunk(kLong, [](uint32_t f, uint32_t) { return 77 * f; }), true);
}

TEST(CrossThreadCopy, AnAbsentReferenceIsNoPartOfARun) {
  const Chunk chunk(kLong, [](uint32_t, uint32_t k) { return kAbsent + k; });
  expect_arrives(chunk, chunk.segment, false);
  expect_all_parts_arrive(Chunk(kLong, [](uint32_t, uint32_t) { return kAbsent; }), true);
}

TEST(CrossThreadCopy, OtherWordsAreCopied) {
  expect_all_parts_arrive(Chunk(kLong, [](uint32_t f, uint32_t k) { return f + 3 * k * k; }),
                          false);
}

TEST(CrossThreadCopy, OneWordOfARunThatDiffersIsNotLost) {
  const Chunk chunk({100, 100}, [](uint32_t f, uint32_t k) { return f == 1 && k == 99 ? 5 : k; });
  expect_arrives(chunk, chunk.segment, false);
}

TEST(CrossThreadCopy, ShortFibersAreCopied) {
  const Chunk chunk(std::vector<uint32_t>(200, 2), [](uint32_t f, uint32_t k) { return f + k; });
  expect_all_parts_arrive(chunk, false);
}

TEST(CrossThreadCopy, WhatIsSharedIsCopiedOnce) {
  CrossThreadCopy copier;
  const Chunk chunk(kLong, [](uint32_t f, uint32_t k) { return f * k; });
  const Segment one = copier.copy(chunk.segment, true);
  const Segment two = copier.copy(chunk.part(7, 50), false);
  EXPECT_EQ(one.structure, two.structure);
  EXPECT_EQ(one.arrivals.times, two.arrivals.times);
  EXPECT_EQ(two.payload.data, chunk.segment.payload.words() + 7);  // names of blocks stay
}

TEST(CrossThreadCopy, PortsKeepTheOrderWhenTheirThreadsChange) {
  const Chunk chunk(kLong, [](uint32_t f, uint32_t k) { return f + k; });
  Port port;
  port.elsewhere = true;
  port.push(chunk.part(0, 10));
  port.import();
  port.elsewhere = false;
  port.push(chunk.part(10, 20));
  EXPECT_EQ(port.waiting(), 30);
  ASSERT_EQ(port.ready(), 10U);
  EXPECT_EQ(port.batch(10).begin, 0U);
}

}  // namespace
}  // namespace fuseflow::engine
