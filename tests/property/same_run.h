// Whether two executions of a graph agree in everything: counts, times, results to the last bit,
// and (where both were recorded) every token. Shared by tests that compare the executors.
#pragma once

#include <fmt/format.h>

#include <cstring>
#include <string>

#include "sim/run.h"

namespace fuseflow::testing {

/// The first node whose statistics differ, or nothing.
inline std::string different_nodes(const RunResult& a, const RunResult& b) {
  for (size_t n = 0; n < a.nodes.size(); ++n) {
    const NodeStats& x = a.nodes[n];
    const NodeStats& y = b.nodes[n];
    const std::array<std::pair<int64_t, int64_t>, 12> pairs = {{{x.steps, y.steps},
                                                                {x.busy, y.busy},
                                                                {x.starved, y.starved},
                                                                {x.blocked, y.blocked},
                                                                {x.first_step, y.first_step},
                                                                {x.last_step, y.last_step},
                                                                {x.tokens_in, y.tokens_in},
                                                                {x.tokens_out, y.tokens_out},
                                                                {x.flops, y.flops},
                                                                {x.read_bytes, y.read_bytes},
                                                                {x.write_bytes, y.write_bytes},
                                                                {x.memory, y.memory}}};
    for (size_t i = 0; i < pairs.size(); ++i) {
      if (pairs[i].first == pairs[i].second) continue;
      return fmt::format("node {}, statistic {}: {} and {}", n, i, pairs[i].first, pairs[i].second);
    }
  }
  return "";
}

inline std::string different_streams(const RunResult& a, const RunResult& b) {
  for (size_t s = 0; s < a.streams.size(); ++s) {
    if (a.streams[s].tokens != b.streams[s].tokens || a.streams[s].peak != b.streams[s].peak) {
      return fmt::format("stream {}: {} and {} tokens, {} and {} at most", s, a.streams[s].tokens,
                         b.streams[s].tokens, a.streams[s].peak, b.streams[s].peak);
    }
    if (a.streams[s].blocked != b.streams[s].blocked) {
      return fmt::format("stream {}: blocked {} and {} cycles", s, a.streams[s].blocked,
                         b.streams[s].blocked);
    }
    const bool both = s < a.recorded.size() && s < b.recorded.size() && a.streams[s].tokens > 0;
    if (both && a.recorded[s] != b.recorded[s]) return fmt::format("tokens of stream {}", s);
  }
  return "";
}

inline std::string different_results(const RunResult& a, const RunResult& b) {
  if (a.results.size() != b.results.size()) return "numbers of results";
  for (size_t r = 0; r < a.results.size(); ++r) {
    const Storage& x = *a.results[r].second;
    const Storage& y = *b.results[r].second;
    const bool same = x.values.size() == y.values.size() &&
                      (x.values.empty() || std::memcmp(x.values.data(), y.values.data(),
                                                       x.values.size() * sizeof(float)) == 0);
    if (!same) return fmt::format("values of result {}", r);
    for (size_t l = 0; l < x.levels.size(); ++l) {
      if (x.levels[l].pos != y.levels[l].pos || x.levels[l].crd != y.levels[l].crd) {
        return fmt::format("level {} of result {}", l, r);
      }
    }
  }
  return "";
}

/// What differs; empty if nothing does. Runs that did not end must only agree in that.
inline std::string difference(const RunResult& a, const RunResult& b) {
  if (a.finish != b.finish) return "how they ended";
  if (a.finish != Finish::done) return "";
  const std::array<std::tuple<const char*, int64_t, int64_t>, 7> totals = {
      {{"cycles", a.cycles, b.cycles},
       {"flops", a.flops, b.flops},
       {"tokens", a.tokens, b.tokens},
       {"bytes read", a.dram_read_bytes, b.dram_read_bytes},
       {"bytes written", a.dram_write_bytes, b.dram_write_bytes},
       {"scratchpad bytes", a.scratchpad_read_bytes, b.scratchpad_read_bytes},
       {"tokens in a stream", a.peak_fifo_tokens, b.peak_fifo_tokens}}};
  for (const auto& [name, x, y] : totals) {
    if (x != y) return fmt::format("{}: {} and {}", name, x, y);
  }
  for (const std::string& what :
       {different_nodes(a, b), different_streams(a, b), different_results(a, b)}) {
    if (!what.empty()) return what;
  }
  return "";
}

}  // namespace fuseflow::testing
