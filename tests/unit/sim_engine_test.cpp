// The fast executor gives exactly what the naive one gives: every token with its time, every count,
// every result, for any chunk size.
#include <gtest/gtest.h>

#include <map>

#include "nodes/rule.h"
#include "sim/fast_executor.h"
#include "sim/naive/interpret.h"
#include "sim_random_graph.h"
#include "thorough.h"

namespace fuseflow {
namespace {

using testing::RandomGraph;

void expect_same_counts(const RunResult& naive, const RunResult& fast) {
  EXPECT_EQ(naive.finish, fast.finish);
  EXPECT_EQ(naive.cycles, fast.cycles);
  EXPECT_EQ(naive.flops, fast.flops);
  EXPECT_EQ(naive.tokens, fast.tokens);
  EXPECT_EQ(naive.dram_read_bytes, fast.dram_read_bytes);
  EXPECT_EQ(naive.dram_write_bytes, fast.dram_write_bytes);
  EXPECT_EQ(naive.peak_fifo_tokens, fast.peak_fifo_tokens);
  for (size_t n = 0; n < naive.nodes.size(); ++n) {
    const NodeStats& a = naive.nodes[n];
    const NodeStats& b = fast.nodes[n];
    EXPECT_EQ(a.steps, b.steps) << "node " << n;
    EXPECT_EQ(a.busy, b.busy) << "node " << n;
    EXPECT_EQ(a.starved, b.starved) << "node " << n;
    EXPECT_EQ(a.blocked, b.blocked) << "node " << n;
    EXPECT_EQ(a.memory, b.memory) << "node " << n;
    EXPECT_EQ(a.first_step, b.first_step) << "node " << n;
    EXPECT_EQ(a.last_step, b.last_step) << "node " << n;
    EXPECT_EQ(a.tokens_in, b.tokens_in) << "node " << n;
    EXPECT_EQ(a.tokens_out, b.tokens_out) << "node " << n;
    EXPECT_EQ(a.flops, b.flops) << "node " << n;
    EXPECT_EQ(a.read_bytes, b.read_bytes) << "node " << n;
    EXPECT_EQ(a.write_bytes, b.write_bytes) << "node " << n;
  }
  ASSERT_EQ(naive.activity.size(), fast.activity.size());
  for (size_t n = 0; n < naive.activity.size(); ++n) {
    EXPECT_EQ(naive.activity[n].interval(), fast.activity[n].interval()) << "node " << n;
    EXPECT_EQ(naive.activity[n].busy(), fast.activity[n].busy()) << "node " << n;
  }
  for (size_t s = 0; s < naive.streams.size(); ++s) {
    EXPECT_EQ(naive.streams[s].tokens, fast.streams[s].tokens) << "stream " << s;
    EXPECT_EQ(naive.streams[s].peak, fast.streams[s].peak) << "stream " << s;
    EXPECT_EQ(naive.streams[s].blocked, fast.streams[s].blocked) << "stream " << s;
  }
  ASSERT_EQ(naive.results.size(), fast.results.size());
  for (size_t r = 0; r < naive.results.size(); ++r) {
    EXPECT_EQ(to_dense(*naive.results[r].second), to_dense(*fast.results[r].second));
  }
}

std::string describe(const Graph& graph, const RunResult& naive, const RunResult& fast) {
  std::string text;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    text += fmt::format("{}: {} (", n, node_kind_name(node.kind));
    for (const Input& input : node.inputs) text += fmt::format("s{} ", input.stream);
    text += ")\n";
    for (const StreamId s : node.outputs) {
      text += fmt::format("  s{} naive {}\n", s, testing::show(graph, naive, s));
      text += fmt::format("  s{} fast  {}\n", s, testing::show(graph, fast, s));
    }
  }
  return text;
}

/// How many nodes of a kind took steps in graphs that ran to their end.
using KindCounts = std::map<NodeKind, int>;

KindCounts compare(uint64_t seed, int most_extent, int steps, bool print, int64_t depth = 0,
                   bool bits = false) {
  RandomGraph random(seed, most_extent, steps, bits);
  Machine machine = random.machine();
  machine.fifo_depth = depth;
  RunResult naive;
  RunOptions options;
  options.full_streams = true;
  options.trace = true;
  options.record_streams = true;
  try {
    naive = interpret_graph(random.b.program, random.b.graph, random.b.data, machine, options);
  } catch (const std::exception&) {  // e.g. a result whose coordinates repeat
    EXPECT_THROW(run_fast(random.b.program, random.b.graph, random.b.data, machine, options),
                 std::exception)
        << "seed " << seed;
    return {};
  }
  if (naive.finish == Finish::deadlock) {
    const RunResult fast =
        run_fast(random.b.program, random.b.graph, random.b.data, machine, options);
    EXPECT_EQ(fast.finish, Finish::deadlock) << "seed " << seed;
    return {};
  }
  KindCounts ran;
  for (size_t n = 0; n < naive.nodes.size(); ++n) {
    if (naive.nodes[n].steps > 1) ++ran[random.b.graph.nodes[n].kind];
  }
  for (const uint32_t chunk : {8192U, 1U, 3U, 7U}) {
    for (const bool record : {true, false}) {
      options.record_streams = record;
      options.threads = chunk == 3 ? 2 : chunk == 7 ? 8 : 1;
      const uint32_t run_length_from = (seed + chunk / 2) % 2 == 0 ? 0 : 32;
      const auto few = static_cast<uint32_t>(chunk == 1 ? 0 : chunk == 3 ? 1 + seed % 7 : 256);
      const RunResult fast =
          run_fast(random.b.program, random.b.graph, random.b.data, machine, options,
                   {.chunk = chunk,
                    .few = few,
                    .run_length_from = run_length_from,
                    .alone = 0,
                    .scatter = true});
      expect_same_counts(naive, fast);
      if (record) {
        for (size_t s = 0; s < naive.recorded.size(); ++s) {
          const bool connected = naive.streams[s].tokens > 0;
          EXPECT_TRUE(!connected || naive.recorded[s] == fast.recorded[s]) << "stream " << s;
        }
      }
      if (::testing::Test::HasFailure()) {
        ADD_FAILURE() << "seed " << seed << " chunk " << chunk << " record " << record << "\n"
                      << (print && record ? describe(random.b.graph, naive, fast) : "");
        return ran;
      }
    }
  }
  return ran;
}

TEST(Engine, SameAsNaiveOnSmallGraphs) {
  KindCounts ran;
  for (uint64_t seed = 0; seed < thorough_or(1500, 500); ++seed) {
    for (const auto& [kind, count] : compare(seed, 4, 12, true)) ran[kind] += count;
    if (HasFailure()) return;
  }
  // A graph that is not well typed is thrown by both and compares nothing.
  for (const NodeKind kind :
       {NodeKind::scan, NodeKind::intersect, NodeKind::unite, NodeKind::leftjoin, NodeKind::gallop,
        NodeKind::intersect_words, NodeKind::repeat, NodeKind::locate, NodeKind::array,
        NodeKind::map, NodeKind::reduce, NodeKind::accumulate, NodeKind::filter, NodeKind::drop,
        NodeKind::align, NodeKind::buffer, NodeKind::coordinate}) {
    EXPECT_GE(ran[kind], 10) << node_kind_name(kind);
  }
}

TEST(Engine, SameAsNaiveWithBoundedFifos) {
  for (uint64_t seed = 0; seed < thorough_or(1500, 750); ++seed) {
    compare(2'000'000 + seed, 5, 14, true, 2 + static_cast<int64_t>(seed % 12));
    if (HasFailure()) return;
  }
}

TEST(Engine, SameAsNaiveOnLargerGraphs) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    compare(1'000'000 + seed, 14, 24, true);
    if (HasFailure()) return;
  }
}

/// Fibers of several words, some of them empty.
TEST(Engine, SameAsNaiveOnBitVectors) {
  for (uint64_t seed = 0; seed < thorough_or(200, 50); ++seed) {
    compare(6'000'000 + seed, 300, 7, false, seed % 2 == 0 ? 0 : 2 + static_cast<int64_t>(seed % 7),
            true);
    if (HasFailure()) return;
  }
}

/// However short the rounds are: each does something, whatever the host lets its threads do.
TEST(Engine, RoundsOfOneBatchEnd) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    RandomGraph random(7'000'000 + seed, 14, 24);
    const Machine machine = random.machine();
    RunOptions options;
    options.full_streams = true;
    const auto run = [&](const EngineTuning& tuning) {
      return run_fast(random.b.program, random.b.graph, random.b.data, machine, options, tuning);
    };
    RunResult expected;
    try {
      expected = run({});
    } catch (const std::exception&) {
      continue;
    }
    for (const int threads : {2, 8}) {
      options.threads = threads;
      // A run that does nothing ends by this, as another result.
      options.max_seconds = 20;
      const EngineTuning tuning{
          .chunk = 16, .few = 4, .alone = 0, .scatter = true, .scatter_microseconds = 0};
      expect_same_counts(expected, run(tuning));
      if (HasFailure()) FAIL() << "seed " << seed << ", " << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace fuseflow
