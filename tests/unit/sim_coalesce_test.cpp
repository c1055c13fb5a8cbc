// Short segments that are made one hold the same tokens.
#include <gtest/gtest.h>

#include <vector>

#include "sim/functional/port.h"
#include "sim/functional/run_length.h"
#include "sim_chunk.h"

namespace fuseflow::engine {
namespace {

const std::vector<uint32_t> kFibers = {9, 0, 7, 33, 1, 64};

Chunk numbers() {
  return Chunk(kFibers, [](uint32_t f, uint32_t k) { return 1000 * f + 3 * k; });
}

std::vector<Segment> parts_of(const Chunk& chunk, const std::vector<uint32_t>& counts) {
  std::vector<Segment> parts;
  uint32_t first = 0;
  for (const uint32_t count : counts) {
    parts.push_back(chunk.part(first, count));
    first += count;
  }
  return parts;
}

void expect_tokens(const Chunk& chunk, const Batch& batch, uint32_t first) {
  for (uint32_t k = 0; k < batch.count; ++k) {
    EXPECT_EQ(batch.payload.words()[k], chunk.words[first + k]) << k;
    EXPECT_EQ(batch.arrivals.at(k), chunk.segment.arrivals.at(first + k)) << k;
  }
  const Batch whole = all_of(chunk.part(first, batch.count));
  ASSERT_EQ(batch.stops.size(), whole.stops.size());
  for (size_t s = 0; s < whole.stops.size(); ++s) {
    EXPECT_EQ(batch.at(batch.stops[s]), whole.at(whole.stops[s]));
    EXPECT_EQ(batch.stops[s].level, whole.stops[s].level);
    EXPECT_EQ(batch.stops[s].bits, whole.stops[s].bits);
  }
}

TEST(Coalesce, AllTokensInTheirOrder) {
  const Chunk chunk = numbers();
  for (const auto& counts :
       {std::vector<uint32_t>{1, 1, 1, 100}, {10, 1, 8, 34, 30}, {5, 70}, {118, 2}}) {
    const std::vector<Segment> parts = parts_of(chunk, counts);
    const Segment joined = coalesce(parts);
    EXPECT_NE(joined.structure, chunk.segment.structure);
    expect_tokens(chunk, all_of(joined), 0);
  }
}

TEST(Coalesce, RunLengthPayloadsBecomeWords) {
  const Chunk chunk({60, 70}, [](uint32_t f, uint32_t k) { return 100 * f + k; });
  std::vector<Segment> parts = parts_of(chunk, {50, 40, 42});
  const auto runs = make_pooled<Runs>(Runs{{0, 1}, {100, 1}, {}});
  for (Segment& part : parts) {
    part.payload = {nullptr, nullptr, runs_like(all_of(chunk.segment), runs)};
  }
  expect_tokens(chunk, all_of(coalesce(parts)), 0);
}

TEST(Coalesce, TimesOfPartsMayBeNearerThanThoseInAPart) {
  TimesBuilder slow(5);
  slow.append(20, 0, 5);
  const TimeRef times{slow.finish(), 0, 0};
  const Chunk chunk({19}, [](uint32_t, uint32_t k) { return k; });
  std::vector<Segment> parts = parts_of(chunk, {10, 10});
  parts[0].arrivals = times;
  parts[1].arrivals = times.later(5 * 9 + 1);
  const Segment joined = coalesce(parts);
  EXPECT_EQ(joined.arrivals.times->gap, 1);
  for (uint32_t k = 0; k < 10; ++k) {
    EXPECT_EQ(joined.arrivals.at(k), 5 * k);
    EXPECT_EQ(joined.arrivals.at(10 + k), 46 + 5 * k);
  }
}

TEST(Coalesce, PortsJoinShortSegmentsOnly) {
  const Chunk chunk = numbers();
  Port port;
  port.few = 10;
  for (const Segment& part : parts_of(chunk, {8, 9, 10, 11, 3, 4})) port.push(part);
  port.take(0, {});
  ASSERT_EQ(port.ready(), 27U);
  expect_tokens(chunk, port.batch(27), 0);
  const TimeRef takes = chunk.segment.arrivals;
  port.take(20, takes);
  ASSERT_EQ(port.ready(), 7U);  // 11 are not short
  port.take(7, takes.from(20));
  ASSERT_EQ(port.ready(), 11U);
  port.take(9, takes.from(27));
  ASSERT_EQ(port.ready(), 2U) << "but for its two last tokens it is gone";
  expect_tokens(chunk, port.batch(2), 36);
}

TEST(Coalesce, TokensThatAreGoneStayGone) {
  const Chunk chunk = numbers();
  Port port;
  port.few = 10;
  const std::vector<Segment> parts = parts_of(chunk, {10, 10, 10});
  port.push(parts[0]);
  ASSERT_EQ(port.ready(), 10U);
  port.take(4, chunk.segment.arrivals);
  port.push(parts[1]);
  port.push(parts[2]);
  ASSERT_EQ(port.ready(), 26U);
  expect_tokens(chunk, port.batch(26), 4);
  EXPECT_EQ(port.waiting(), 26);
}

}  // namespace
}  // namespace fuseflow::engine
