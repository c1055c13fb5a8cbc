#include "sim/report/timeline.h"

#include <algorithm>

#include "support/ceil_div.h"

namespace fuseflow {
namespace {

/// Tokens that a node gives, once for each consumer.
std::vector<double> tokens_given(const Graph& graph, const RunResult& result) {
  std::vector<double> given(graph.nodes.size(), 0);
  for (const Node& node : graph.nodes) {
    for (const Input& input : node.inputs) {
      if (input.is_immediate() || result.streams.empty()) continue;  // tiles have no tokens
      const auto stream = static_cast<size_t>(input.stream);
      given[graph.streams[stream].producer] += static_cast<double>(result.streams[stream].tokens);
    }
  }
  return given;
}

/// Cycles of each interval up to the end of the run; the last may be shorter.
double length_of(size_t bin, int64_t interval, int64_t cycles) {
  return static_cast<double>(std::min(interval, cycles - static_cast<int64_t>(bin) * interval));
}

}  // namespace

std::vector<int64_t> rebinned(const Activity& activity, int64_t interval) {
  const auto factor = static_cast<size_t>(std::max<int64_t>(1, interval / activity.interval()));
  std::vector<int64_t> bins(ceil_div(activity.busy().size(), factor), 0);
  for (size_t k = 0; k < activity.busy().size(); ++k) bins[k / factor] += activity.busy()[k];
  return bins;
}

int64_t covering_interval(int64_t cycles, int64_t most) {
  int64_t interval = 1;
  while (interval * most < cycles) interval *= 2;
  return interval;
}

std::vector<TimelineSample> timeline_of(const Graph& graph, const RunResult& result,
                                        int64_t interval) {
  const auto bins = static_cast<size_t>(ceil_div(result.cycles, interval));
  std::vector<TimelineSample> samples(bins);
  const std::vector<double> given = tokens_given(graph, result);
  for (size_t n = 0; n < result.activity.size(); ++n) {
    const NodeStats& stats = result.nodes[n];
    const double busy = static_cast<double>(std::max<int64_t>(1, stats.busy));
    const double tokens = (given[n] - static_cast<double>(stats.tokens_in)) / busy;
    const bool memory = graph.nodes[n].tensor >= 0 && !graph.on_chip(graph.nodes[n].tensor);
    const double bytes =
        memory ? static_cast<double>(stats.read_bytes + stats.write_bytes) / busy : 0;
    const std::vector<int64_t> active = rebinned(result.activity[n], interval);
    for (size_t b = 0; b < std::min(bins, active.size()); ++b) {
      const auto cycles = static_cast<double>(active[b]);
      const double length = length_of(b, interval, result.cycles);
      samples[b].busy += cycles / length;
      samples[b].tokens += cycles * tokens;
      samples[b].dram_bytes += cycles * bytes / length;
    }
    const auto add = [&](const Activity& cycles, double TimelineSample::*to) {
      const std::vector<int64_t> by_bin = rebinned(cycles, interval);
      for (size_t b = 0; b < std::min(bins, by_bin.size()); ++b) {
        samples[b].*to += static_cast<double>(by_bin[b]) / length_of(b, interval, result.cycles);
      }
    };
    add(result.stalls[n], &TimelineSample::blocked);
    add(result.waits[n], &TimelineSample::memory);
  }
  double held = 0;
  for (TimelineSample& sample : samples) {
    held = sample.tokens += held;
    sample.tokens = std::max(0.0, sample.tokens);
    sample.starved = std::max(0.0, static_cast<double>(result.activity.size()) - sample.busy -
                                       sample.memory - sample.blocked);
  }
  return samples;
}

}  // namespace fuseflow
