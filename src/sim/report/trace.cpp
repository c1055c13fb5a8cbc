#include "sim/report/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/attribution.h"
#include "nodes/rule.h"
#include "sim/report/timeline.h"
#include "support/ceil_div.h"
#include "support/json.h"

namespace fuseflow {
namespace {

/// What bounds the file: slices of all nodes of a region, and nodes that have tracks.
constexpr int64_t kMostSlices = 300'000;
constexpr size_t kMostTracks = 20'000;
constexpr int64_t kMostIntervals = 4096;  ///< of a track
constexpr int64_t kMostSamples = 1024;    ///< of a counter
constexpr size_t kTracksOfNode = 4;       ///< busy, starved, blocked; memory

/// Busyness of an interval in tenths, at least 1 if there was any at all.
int64_t tenths(int64_t cycles, int64_t interval) {
  return cycles == 0 ? 0 : std::max<int64_t>(1, (cycles * 10 + interval / 2) / interval);
}

/// The events of one region.
class RegionTrace {
 public:
  RegionTrace(const Program& program, const Attribution& attribution, size_t region,
              const RunResult& result, int64_t start)
      : program_(program),
        attribution_(attribution),
        region_(region),
        graph_(*program.regions[region].graph),
        result_(result),
        start_(start) {}

  std::string text() {
    meta("process_name", -1, "@" + program_.regions[region_].name);
    counters();
    const std::vector<size_t> nodes = shown_nodes();
    const auto tracks = static_cast<int64_t>(std::max<size_t>(1, kTracksOfNode * nodes.size()));
    const int64_t most = std::clamp<int64_t>(kMostSlices / tracks, 4, kMostIntervals);
    interval_ = covering_interval(result_.cycles, most);
    for (const size_t n : nodes) node_tracks(n);
    return std::move(text_);
  }

 private:
  /// All nodes, or as many as may have tracks: the busiest.
  std::vector<size_t> shown_nodes() const {
    std::vector<size_t> nodes(result_.activity.size());
    std::iota(nodes.begin(), nodes.end(), size_t{0});
    if (nodes.size() <= kMostTracks) return nodes;
    std::stable_sort(nodes.begin(), nodes.end(), [&](size_t a, size_t b) {
      return result_.nodes[a].busy > result_.nodes[b].busy;
    });
    nodes.resize(kMostTracks);
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  }

  void meta(const char* what, int64_t track, const std::string& name) {
    const std::string thread = track < 0 ? "" : fmt::format("\"tid\":{},", track);
    text_ +=
        fmt::format(",\n{{\"ph\":\"M\",\"pid\":{},{}\"name\":\"{}\",\"args\":{{\"name\":{}}}}}",
                    region_ + 1, thread, what, json_string(name));
  }

  /// Number, what it is, its tensor and streams, and the layer that it is of.
  std::string track_name(size_t n) const {
    const Node& node = graph_.nodes[n];
    std::string text = fmt::format("{} {}", n, node_kind_name(node.kind));
    if (node.tensor >= 0) {
      text += fmt::format(" %{}", program_.tensors[node.tensor].name);
      if (node.level >= 0) text += fmt::format(".{}", node.level);
    }
    if (node.other_tensor >= 0) {
      text += fmt::format(" %{}", program_.tensors[node.other_tensor].name);
      if (node.other_level >= 0) text += fmt::format(".{}", node.other_level);
    }
    for (const StreamId stream : node.outputs) {
      if (stream >= 0) {
        text += fmt::format(" ${}", graph_.streams[stream].name);
      }
    }
    const Statement* statement = attribution_.statement(region_, node);
    if (statement == nullptr || attribution_.layer(*statement).empty()) return text;
    return text + fmt::format(" ({})", attribution_.layer(*statement));
  }

  void node_tracks(size_t n) {
    const auto track = static_cast<int64_t>(3 * n);
    const std::vector<int64_t> busy = padded(rebinned(result_.activity[n], interval_));
    const std::vector<int64_t> blocked = padded(rebinned(result_.stalls[n], interval_));
    const std::vector<int64_t> memory = padded(rebinned(result_.waits[n], interval_));
    std::vector<int64_t> starved(busy.size());
    for (size_t b = 0; b < busy.size(); ++b) {
      const int64_t left = result_.cycles - static_cast<int64_t>(b) * interval_;
      starved[b] =
          std::max<int64_t>(0, std::min(interval_, left) - busy[b] - memory[b] - blocked[b]);
    }
    meta("thread_name", track, track_name(n));
    slices(track, "busy", busy);
    const auto extra = [&](int64_t at, const char* name, const std::vector<int64_t>& cycles) {
      if (std::all_of(cycles.begin(), cycles.end(), [](int64_t c) { return c == 0; })) return;
      meta("thread_name", at, fmt::format("{} {}", n, name));
      slices(at, name, cycles);
    };
    extra(track + 1, "starved", starved);
    extra(track + 2, "blocked", blocked);
    extra(static_cast<int64_t>(3 * graph_.nodes.size() + n), "memory", memory);
  }

  std::vector<int64_t> padded(std::vector<int64_t> bins) const {
    bins.resize(static_cast<size_t>(ceil_div(result_.cycles, interval_)), 0);
    return bins;
  }

  /// Neighbouring intervals of the same tenth are one slice.
  void slices(int64_t track, const char* what, const std::vector<int64_t>& cycles) {
    for (size_t first = 0; first < cycles.size();) {
      const int64_t level = tenths(cycles[first], interval_);
      size_t end = first + 1;
      while (end < cycles.size() && tenths(cycles[end], interval_) == level) ++end;
      if (level > 0) {
        text_ += fmt::format(
            ",\n{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"name\":\"{} {}%\"}}",
            region_ + 1, track, start_ + static_cast<int64_t>(first) * interval_,
            static_cast<int64_t>(end - first) * interval_, what, 10 * level);
      }
      first = end;
    }
  }

  void counter(const char* name, int64_t time, const std::string& arguments) {
    text_ += fmt::format(",\n{{\"ph\":\"C\",\"pid\":{},\"ts\":{},\"name\":\"{}\",\"args\":{{{}}}}}",
                         region_ + 1, time, name, arguments);
  }

  void counters() {
    const int64_t interval = covering_interval(result_.cycles, kMostSamples);
    int64_t time = start_;
    for (const TimelineSample& s : timeline_of(graph_, result_, interval)) {
      counter("nodes", time,
              fmt::format("\"busy\":{:.4g},\"memory\":{:.4g},\"starved\":{:.4g},\"blocked\":{:.4g}",
                          s.busy, s.memory, s.starved, s.blocked));
      counter("tokens in flight", time, fmt::format("\"tokens\":{:.6g}", s.tokens));
      counter("DRAM bytes per cycle", time, fmt::format("\"bytes\":{:.6g}", s.dram_bytes));
      time += interval;
    }
    const int64_t end = start_ + result_.cycles;  // nothing goes on into the next region
    counter("nodes", end, "\"busy\":0,\"memory\":0,\"starved\":0,\"blocked\":0");
    counter("tokens in flight", end, "\"tokens\":0");
    counter("DRAM bytes per cycle", end, "\"bytes\":0");
  }

  const Program& program_;
  const Attribution& attribution_;
  size_t region_;
  const Graph& graph_;
  const RunResult& result_;
  int64_t start_;
  int64_t interval_ = 1;
  std::string text_;
};

}  // namespace

std::string trace_json(const Program& program, const Machine& machine, const ProgramRun& run) {
  std::string text = fmt::format(
      "{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
      "{{\"ph\":\"M\",\"pid\":0,\"name\":\"process_name\",\"args\":{{\"name\":{}}}}}",
      json_string(program.name));
  const Attribution attribution(program);
  int64_t start = 0;
  for (size_t r = 0; r < run.regions.size(); ++r) {
    text += RegionTrace(program, attribution, r, run.regions[r], start).text();
    start += run.regions[r].cycles + machine.reconfiguration_cycles;
  }
  return text + "\n]}\n";
}

}  // namespace fuseflow
