// The memory models alone, against rates and latencies worked out by hand from their constants.
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "sim/fast_executor.h"
#include "sim/memory/dram.h"
#include "sim/memory/trace.h"
#include "sim/timing/fifo.h"
#include "sim_random_graph.h"

namespace fuseflow {
namespace {

Machine banked() {
  Machine m;
  m.dram.model = "banked";
  return m;
}

/// Feeds requests that are ready at time 0, at most `outstanding` at a time, and gives the time of
/// the last answer.
int64_t drain(Memory& memory, const std::vector<uint64_t>& addresses, int64_t outstanding,
              bool write = false) {
  std::vector<MemoryAnswer> answers;
  size_t next = 0;
  int64_t last = 0;
  int64_t answered = 0;
  std::multimap<int64_t, int> credits;  // times at which a request may be issued
  for (int64_t k = 0; k < outstanding; ++k) credits.emplace(0, 0);
  for (int64_t horizon = memory.least_latency(); answered < static_cast<int64_t>(addresses.size());
       horizon += memory.least_latency()) {
    while (next < addresses.size() && !credits.empty() && credits.begin()->first < horizon) {
      memory.submit(
          {credits.begin()->first, 0, static_cast<int64_t>(next), addresses[next], write});
      credits.erase(credits.begin());
      ++next;
    }
    answers.clear();
    memory.advance(horizon, answers);
    for (const MemoryAnswer& answer : answers) {
      last = std::max(last, answer.time);
      credits.emplace(answer.time + 1, 0);
      ++answered;
    }
  }
  return last;
}

const char* model_of(uint64_t seed) {
  return std::array{"fixed", "banked", "comal"}[seed % 3];
}

TEST(Memory, FixedChannelsHaveALatencyAndARate) {
  Machine m;
  m.dram.model = "fixed";
  m.dram.channels = 2;
  m.dram.latency_cycles = 10;
  m.dram.interval_cycles = 3;
  m.dram.interleave_bytes = 64;
  const auto memory = make_memory(m);
  // Channel 0 starts bursts at 5, 8, 11; channel 1 at 6. Equal times are served by port.
  std::vector<MemoryAnswer> answers;
  memory->submit({5, 1, 0, 128, false});
  memory->submit({5, 0, 0, 0, false});
  memory->submit({6, 0, 1, 64, true});
  memory->submit({7, 2, 0, 256, false});
  memory->advance(20, answers);
  std::map<std::pair<uint32_t, int64_t>, int64_t> time;
  for (const auto& a : answers) time[{a.port, a.number}] = a.time;
  EXPECT_EQ((time[{0, 0}]), 15);
  EXPECT_EQ((time[{1, 0}]), 18);
  EXPECT_EQ((time[{0, 1}]), 16);
  EXPECT_EQ((time[{2, 0}]), 21);
}

// The requests of a cycle go 0, 1, 2, .. channels further, those of the next begin behind them; the
// addresses do not matter.
TEST(Memory, ComalDealsRequestsOutInTurn) {
  Machine m;
  m.dram.model = "comal";
  m.dram.channels = 4;
  m.dram.latency_cycles = 19;
  m.dram.interval_cycles = 2;
  const auto memory = make_memory(m);
  std::vector<MemoryAnswer> answers;
  // Cycle 5: channels 0, 1, 3, 2 (6 mod 4), 2 (10 mod 4). Cycle 6 begins at 2 + 5, channel 3.
  for (int64_t k = 0; k < 5; ++k) memory->submit({5, 0, k, 0, false});
  memory->submit({6, 0, 5, 0, false});
  memory->advance(20, answers);
  std::map<int64_t, int64_t> time;
  for (const auto& a : answers) time[a.number] = a.time;
  EXPECT_EQ(time,
            (std::map<int64_t, int64_t>{{0, 24}, {1, 24}, {2, 24}, {3, 24}, {4, 26}, {5, 26}}));
}

TEST(Memory, AnIdleBankedMemoryAnswersAfterActivationAndColumn) {
  // 40 cycles to the queue, tRCD 14 ns + CL 14 ns + 2.5 ns on the bus, rounded up to cycles of 1
  // ns.
  const auto memory = make_memory(banked());
  EXPECT_EQ(drain(*memory, {0}, 1), 40 + 14 + 14 + 3);
  EXPECT_EQ(memory->stats().row_misses, 1);
}

TEST(Memory, StreamingReachesThePeakBandwidth) {
  const Machine m = banked();
  const auto memory = make_memory(m);
  std::vector<uint64_t> addresses;
  for (uint64_t k = 0; k < 400'000; ++k) addresses.push_back(64 * k);
  const auto cycles = static_cast<double>(drain(*memory, addresses, 4096));
  // 16 channels, a burst each 2.5 ns: 6.4 bursts a cycle.
  const double peak = 400'000 / 6.4;
  EXPECT_LT(cycles, 1.05 * peak);
  EXPECT_GE(cycles, peak);
}

TEST(Memory, RandomBurstsAreLimitedByTheBanks) {
  Machine m = banked();
  m.dram.timing.refresh_interval_ps = int64_t{1} << 50;
  m.dram.timing.four_activations_ps = 1;
  m.dram.timing.activate_to_activate_ps = 1;
  const auto memory = make_memory(m);
  // Different rows of one bank of one channel: each needs tRAS + tRP = 48 ns.
  const uint64_t row = uint64_t{16} * 1024 * 16;  // channels * banks * row_bytes
  std::vector<uint64_t> addresses;
  for (uint64_t k = 0; k < 1000; ++k) addresses.push_back(row * k);
  const auto cycles = drain(*memory, addresses, 64);
  EXPECT_NEAR(static_cast<double>(cycles), 1000 * 48.0, 100);
}

TEST(Memory, RowHitsAndConflictsOfEqualBytesDifferAsTheTimingsSay) {
  Machine m = banked();
  m.dram.channels = 1;
  m.dram.bank_groups = 1;
  m.dram.banks_per_group = 1;
  m.dram.timing.refresh_interval_ps = int64_t{1} << 50;
  m.dram.timing.four_activations_ps = 1;
  std::vector<uint64_t> hits;
  std::vector<uint64_t> conflicts;
  for (uint64_t k = 0; k < 4096; ++k) {
    hits.push_back(64 * (k % 16));
    conflicts.push_back(1024 * k);
  }
  const auto fast = static_cast<double>(drain(*make_memory(m), hits, 64));
  const auto slow = static_cast<double>(drain(*make_memory(m), conflicts, 64));
  EXPECT_NEAR(slow / fast, 48.0 / 2.5, 0.05 * 48.0 / 2.5);  // (tRAS + tRP) / burst
}

TEST(Memory, AnswersDoNotDependOnTheWindows) {
  const Machine m = banked();
  std::map<std::pair<uint32_t, int64_t>, int64_t> first;
  for (const int64_t window : {1, 7, 40}) {
    const auto memory = make_memory(m);
    std::vector<MemoryAnswer> answers;
    uint64_t x = 1;
    std::vector<MemoryRequest> requests;
    for (int64_t k = 0; k < 3000; ++k) {
      x = x * 6364136223846793005ULL + 1442695040888963407ULL;
      requests.push_back(
          {k / 5, static_cast<uint32_t>(k % 5), k / 5, (x >> 40) * 64, (x >> 39) % 3 == 0});
    }
    size_t next = 0;
    for (int64_t horizon = window; answers.size() < requests.size(); horizon += window) {
      while (next < requests.size() && requests[next].time < horizon)
        memory->submit(requests[next++]);
      memory->advance(horizon, answers);
    }
    std::map<std::pair<uint32_t, int64_t>, int64_t> times;
    for (const auto& a : answers) times[{a.port, a.number}] = a.time;
    if (first.empty()) first = times;
    EXPECT_EQ(first, times) << window;
    for (const auto& r : requests)
      EXPECT_GE((times[{r.port, r.number}]), r.time + memory->least_latency());
  }
}

// --- behind a graph ---

struct VectorSum {
  testing::GraphBuilder b;
  explicit VectorSum(int64_t n, const std::string& format = "dense") {
    std::vector<float> values(static_cast<size_t>(n), 1.0F);
    const TensorId a = b.input("a", {n}, format, values);
    const TensorId y = b.output("y", {}, "scalar");
    const StreamId root = b.root();
    const auto [crd, ref] = b.scan(a, 0, root, b.index("i", n));
    b.write_values(y, {b.reduce(root, b.array(a, ref))});
  }
};

/// A memory of `channels` channels and whole clocks of 1 ns, without refresh or bank groups, whose
/// queue takes a cycle.
Machine whole_clocks() {
  Machine m = banked();
  m.dram.latency_cycles = 1;
  m.dram.channels = 1;
  m.dram.bank_groups = 1;
  m.dram.banks_per_group = 1;
  m.dram.timing.burst_ps = 2000;
  m.dram.timing.same_group_ps = 2000;
  m.dram.timing.refresh_interval_ps = 1'000'000'000;
  m.dram.timing.refresh_ps = 1;
  return m;
}

TEST(Memory, ATraceIsServedOpenLoop) {
  // A row is opened for 14 ns, read after 14 more, on the bus for 2: each hit of those that came at
  // once 2 cycles after the one before. The last comes when the memory is idle and finds its row.
  const std::vector<TracedAccess> trace =
      parse_memory_trace({"t", "# a row\n0 R 0\n0 R 64\n0 R 0x80\n 1000  R 192\n"}).accesses;
  const TraceRun run = run_memory_trace(trace, whole_clocks());
  const int64_t first = 1 + 14 + 14 + 2;
  EXPECT_EQ(run.cycles, 1000 + 1 + 14 + 2);
  EXPECT_EQ(run.waiting, first + (first + 2) + (first + 4) + (1 + 14 + 2));
  EXPECT_EQ(run.stats.reads, 4);
  EXPECT_EQ(run.stats.row_hits, 3);
  EXPECT_EQ(run.stats.row_misses, 1);
}

TEST(Memory, AnAccessInsideABurstAsksForTheBurst) {
  const Machine m = whole_clocks();
  const TraceRun whole = run_memory_trace({{0, false, 1024}, {0, true, 64}}, m);
  const TraceRun inside = run_memory_trace({{0, false, 1024 + 63}, {0, true, 64 + 1}}, m);
  EXPECT_EQ(whole.cycles, inside.cycles);
  EXPECT_EQ(inside.stats.row_misses, 2);
}

TEST(Memory, WhoHasWaitedLongestHoldsNobodyUpThatCostsItNothing) {
  // The second access wants another row of the first one's bank: activated at 1 and, tRAS + tRP
  // later, at 49, read at 63, there at 79. Ten hits in the other bank fit in before it.
  Machine m = whole_clocks();
  m.dram.banks_per_group = 2;
  m.dram.most_bypassed = 1;
  std::vector<TracedAccess> trace = {{0, false, 0}, {0, false, 2048}};
  for (uint64_t k = 0; k < 10; ++k) trace.push_back({0, false, 1024 + 64 * k});
  EXPECT_EQ(run_memory_trace(trace, m).cycles, 1 + 34 + 14 + 14 + 14 + 2);
}

TEST(Memory, WhoHasWaitedLongestGoesBeforeAllThatWouldHoldItUp) {
  // The second access closes the row of the first; the hits behind it would keep it open.
  Machine m = whole_clocks();
  m.dram.timing.row_active_ps = 20000;
  m.dram.most_bypassed = 4;
  std::vector<TracedAccess> trace = {{0, false, 0}, {0, false, 2048}};
  for (uint64_t k = 0; k < 15; ++k) trace.push_back({0, false, 64 * k});
  const TraceRun run = run_memory_trace(trace, m);
  EXPECT_EQ(run.stats.row_misses, 3);  // the last eleven open the first row once more
}

TEST(Memory, ARefreshGoesToABankThatNobodyInTheQueueWants) {
  // 600 hits in one bank from 15 on; the first refresh is due at 1000. The last access is for the
  // other bank, but the controller knows one request at a time.
  Machine m = whole_clocks();
  m.dram.banks_per_group = 2;
  m.dram.row_bytes = int64_t{64} * 1024;
  m.dram.queue_depth = 1;
  m.dram.timing.refresh_interval_ps = 2'000'000;
  m.dram.timing.refresh_ps = 160'000;
  std::vector<TracedAccess> trace;
  for (uint64_t k = 0; k < 600; ++k) trace.push_back({0, false, 64 * k});
  trace.push_back({0, false, uint64_t{64} * 1024});
  EXPECT_EQ(run_memory_trace(trace, m).cycles, 15 + 2 * 600 + 14 + 2);
}

TEST(Memory, ATraceIsWrittenAsItIsRead) {
  const std::string text = trace_line({7, true, 0x1f40});
  EXPECT_EQ(text, "7 W 0x1f40\n");
  const auto trace = parse_memory_trace({"t", text}).accesses;
  ASSERT_EQ(trace.size(), 1U);
  EXPECT_EQ(trace[0].cycle, 7);
  EXPECT_TRUE(trace[0].write);
  EXPECT_EQ(trace[0].address, 0x1f40U);
}

TEST(Memory, LongPausesOfATraceCostNothing) {
  // Each finds its row closed by a refresh, one a millisecond.
  std::vector<TracedAccess> trace;
  for (int64_t k = 0; k < 10; ++k) trace.push_back({k * 100'000'000'000, false, 0});
  EXPECT_EQ(run_memory_trace(trace, whole_clocks()).cycles, 900'000'000'000 + 31);
}

TEST(Memory, RoundsOfRefreshesThatAreSkippedAreLikeOthers) {
  // A pause of a few rounds is gone through refresh by refresh until all banks are closed; one that
  // is longer by whole rounds must end in the same way, whichever bank is refreshed at its end.
  Machine m = whole_clocks();
  m.dram.banks_per_group = 4;
  m.dram.timing.refresh_interval_ps = 4'000'000;  // a round of 4000 cycles
  m.dram.timing.refresh_ps = 900'000;
  for (int64_t pause = 4100; pause < 9000; pause += 61) {
    for (uint64_t bank = 0; bank < 4; ++bank) {
      const auto waiting = [&](int64_t cycle) {
        return run_memory_trace({{0, false, 0}, {cycle, false, 1024 * bank}}, m).waiting;
      };
      EXPECT_EQ(waiting(pause + int64_t{4000} * 1'000'000'000), waiting(pause)) << pause;
    }
  }
}

TEST(Memory, AGraphWaitsForTheFirstBurstAndThenStreams) {
  Machine m;
  m.dram.model = "fixed";
  m.dram.latency_cycles = 100;
  m.dram.interval_cycles = 1;
  const int64_t without = VectorSum(1000).b.run({}, Executor::fast).cycles;
  const RunResult with = VectorSum(1000).b.run(m, Executor::fast);
  // The first value waits 100 cycles for its burst, all others come a cycle each: 63 bursts (of 16
  // values) are within the 64 that may be outstanding. The written value is acknowledged 100 cycles
  // after the writer's done, the last step.
  EXPECT_EQ(with.cycles, without + 100 + 100);
  EXPECT_EQ(with.results[0].second->values[0], 1000);
}

// 20 values: batches of 8, 8 and, sent by the stop, 4. A batch of 8 takes 7 steps, the step that
// sends it and 19 cycles to the answers; the next begins a cycle later. The last 4 values come
// together with the stop, which the sum takes 4 cycles later.
TEST(Memory, ABatchIsAnsweredBeforeTheNextBegins) {
  Machine m;
  m.dram.model = "comal";
  m.dram.channels = 8;
  m.dram.latency_cycles = 19;
  m.dram.interval_cycles = 2;
  m.dram.burst_bytes = 4;
  m.dram.outstanding = 8;
  VectorSum sum(20);
  const RunResult with = sum.b.run(m, Executor::fast);
  const RunResult without = sum.b.run({}, Executor::fast);
  // The write of the sum waits, too.
  EXPECT_EQ(with.cycles, without.cycles + int64_t{3} * 19 + 4 + 19);
  EXPECT_EQ(with.dram_bursts, 21);
  EXPECT_EQ(with.results[0].second->values[0], 20);
  for (size_t n = 0; n < with.nodes.size(); ++n) {
    EXPECT_EQ(with.nodes[n].steps, without.nodes[n].steps) << "node " << n;
  }
}

// The worked case of timing.md, "Galloping". The references come at 1, which asks for both
// positions: the only channel begins the second a cycle later, so they are there at 102. The first
// look asks for the burst of each level's entries: 203. All other looks are in these two bursts.
TEST(Memory, AGallopWaitsForWhatItLooksAt) {
  testing::GallopExample example;
  auto& [b, a, c, y, root, met] = example;
  b.write_values(y, {b.reduce(root, b.array(a, met[1]))});
  Machine m;
  m.dram.model = "fixed";
  m.dram.channels = 1;
  m.dram.latency_cycles = 100;
  m.dram.interval_cycles = 1;
  const NodeStats with = b.run(m, Executor::fast).nodes[1];
  EXPECT_EQ(with.first_step, 1);
  EXPECT_EQ(with.last_step, 12 + 202);
  EXPECT_EQ(with.steps, 12);
  EXPECT_EQ(with.read_bytes, 16 + 48);
  // A burst a word: four positions in turn, then of ten looks two at both heads.
  m.dram.burst_bytes = 4;
  EXPECT_EQ(b.run(m, Executor::fast).nodes[1].last_step, 1 + 103 + 101 + 7 * 101 + 102 + 101 + 2);
}

TEST(Memory, OneOutstandingBurstIsLatencyBound) {
  Machine m;
  m.dram.model = "fixed";
  m.dram.latency_cycles = 100;
  m.dram.interval_cycles = 1;
  m.dram.outstanding = 1;
  const int64_t cycles = VectorSum(1600).b.run(m, Executor::fast).cycles;
  // 100 bursts; the next is requested a cycle after the first value of the one before was consumed.
  EXPECT_NEAR(static_cast<double>(cycles), 100 * 101.0, 300);
}

TEST(Memory, ResultsAreThoseWithoutMemoryAndTimesDoNotDependOnChunks) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    testing::RandomGraph random(3'000'000 + seed, 6, 14);
    Machine m = random.machine();
    m.dram.model = model_of(seed);
    m.dram.burst_bytes = 16;
    m.dram.interleave_bytes = 32;
    m.dram.outstanding = 1 + static_cast<int64_t>(seed % 5);
    if (seed % 5 == 0 && seed % 3 != 2) m.fifo_depth = 32;
    RunResult plain;
    try {
      plain = random.b.run(random.machine(), Executor::naive);
    } catch (const std::exception&) {
      continue;
    }
    RunOptions options;
    options.full_streams = true;
    options.record_streams = true;
    std::vector<std::vector<TokenRecord>> first;
    for (const uint32_t chunk : {8192U, 2U, 5U}) {
      const RunResult r = run_fast(random.b.program, random.b.graph, random.b.data, m, options,
                                   {.chunk = chunk, .run_length_from = chunk == 2 ? 32U : 0U});
      if (r.finish != Finish::done) break;  // FIFOs too shallow
      EXPECT_EQ(r.tokens, plain.tokens) << seed;
      EXPECT_EQ(r.dram_read_bytes, plain.dram_read_bytes) << seed;
      ASSERT_EQ(r.results.size(), plain.results.size()) << seed;
      for (size_t i = 0; i < r.results.size(); ++i) {
        EXPECT_EQ(to_dense(*r.results[i].second), to_dense(*plain.results[i].second)) << seed;
      }
      if (first.empty()) first = r.recorded;
      EXPECT_TRUE(first == r.recorded) << seed << " chunk " << chunk;
      for (const NodeStats& node : r.nodes) {
        EXPECT_EQ(node.busy + node.memory + node.starved + node.blocked, r.cycles) << seed;
      }
      if (HasFailure()) return;
    }
  }
}

// Whatever a step needs, few outstanding bursts only make it wait: no graph deadlocks for them.
TEST(Memory, BurstsOfOneStepTakeTurns) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    testing::RandomGraph random(4'000'000 + seed, 12, 14);
    RunResult plain;
    try {
      plain = random.b.run(random.machine(), Executor::naive);
    } catch (const std::exception&) {
      continue;
    }
    if (plain.finish != Finish::done) continue;  // a buffer is too small
    Machine m = random.machine();
    m.dram.model = model_of(seed);
    m.dram.burst_bytes = int64_t{4} << (seed % 3);
    m.dram.interleave_bytes = 32;
    m.dram.outstanding = 1 + static_cast<int64_t>(seed % 2);
    for (const uint32_t chunk : {8192U, 3U}) {
      const RunResult r =
          run_fast(random.b.program, random.b.graph, random.b.data, m, {}, {.chunk = chunk});
      ASSERT_EQ(r.finish, Finish::done) << seed;
      EXPECT_EQ(r.tokens, plain.tokens) << seed;
      EXPECT_EQ(r.dram_read_bytes, plain.dram_read_bytes) << seed;
    }
  }
}

/// What must not depend on how a run is worked out.
void expect_same(const RunResult& a, const RunResult& b) {
  EXPECT_EQ(a.finish, b.finish);
  EXPECT_EQ(a.cycles, b.cycles);
  EXPECT_EQ(a.dram_bursts, b.dram_bursts);
  EXPECT_EQ(a.memory_row_hits, b.memory_row_hits);
  for (size_t n = 0; n < a.nodes.size(); ++n) {
    EXPECT_EQ(a.nodes[n].steps, b.nodes[n].steps) << "node " << n;
    EXPECT_EQ(a.nodes[n].blocked, b.nodes[n].blocked) << "node " << n;
    EXPECT_EQ(a.nodes[n].memory, b.nodes[n].memory) << "node " << n;
    EXPECT_EQ(a.nodes[n].first_step, b.nodes[n].first_step) << "node " << n;
    EXPECT_EQ(a.nodes[n].last_step, b.nodes[n].last_step) << "node " << n;
  }
  for (size_t s = 0; s < a.streams.size(); ++s) {
    EXPECT_EQ(a.streams[s].peak, b.streams[s].peak) << "stream " << s;
    EXPECT_EQ(a.streams[s].blocked, b.streams[s].blocked) << "stream " << s;
  }
}

TEST(Memory, TimesDoNotDependOnBatches) {
  int done = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    testing::RandomGraph random(5'000'000 + seed, seed % 3 == 0 ? 40 : 12, 20);
    Machine m = random.machine();
    m.dram.model = model_of(seed);
    m.dram.burst_bytes = 16;
    m.dram.row_bytes = 64;
    m.dram.interleave_bytes = 32;
    m.dram.channels = 1 + static_cast<int64_t>(seed % 3);
    m.dram.latency_cycles = 1 + static_cast<int64_t>(seed % 37);
    m.dram.outstanding = 1 + static_cast<int64_t>(seed % 7);
    if (seed % 5 == 0 && seed % 3 != 2) m.fifo_depth = 64;
    RunOptions options;
    options.full_streams = true;
    const auto run = [&](EngineTuning tuning) {
      return run_fast(random.b.program, random.b.graph, random.b.data, m, options, tuning);
    };
    try {
      const RunResult expected = run({.chunk = 64});
      expect_same(run({.chunk = 8192}), expected);
      expect_same(run({.chunk = 8192, .run_length_from = 0}), expected);
      done += expected.finish == Finish::done ? 1 : 0;
    } catch (const std::exception&) {  // e.g. a result whose coordinates repeat
      continue;
    }
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
  EXPECT_GT(done, 300);
}

TEST(Memory, ABurstArrivesWhenAllBeforeItAreAnswered) {
  // A step that takes both bursts happens when the slower one is there, whichever that is.
  const auto memory = make_memory(banked());
  engine::MemoryPort port{memory.get(), 0, false, {0, 64}};
  engine::OutputTimes bursts;
  bursts.memory = &port;
  engine::Fifo fifo(bursts, 8);
  bursts.give(0);
  bursts.give(1);
  bursts.answer(1, 40);
  EXPECT_EQ(fifo.held(), 0);
  bursts.answer(0, 70);
  ASSERT_EQ(fifo.held(), 2);
  EXPECT_EQ(fifo.arrival(0), 70);
  EXPECT_EQ(fifo.arrival(1), 70);
}

}  // namespace
}  // namespace fuseflow
