#include "sim/trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/text.h"

namespace fuseflow {
namespace {

/// A JSON string. JSON is UTF-8: what is not, and control characters, are shown as \xHH.
std::string json_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string track_name(const Program& program, const Graph& graph, const Node& node) {
  std::string text = node_kind_name(node.kind);
  if (node.tensor >= 0) {
    text += fmt::format(" %{}", program.tensors[static_cast<size_t>(node.tensor)].name);
    if (node.level >= 0) text += fmt::format(".{}", node.level);
  }
  for (const StreamId stream : node.outputs) {
    if (stream >= 0) text += fmt::format(" ${}", graph.streams[static_cast<size_t>(stream)].name);
  }
  return text;
}

/// Busyness of an interval in tenths, at least 1 if it was busy at all.
int64_t tenths(int64_t busy, int64_t interval) {
  return busy == 0 ? 0 : std::max<int64_t>(1, (busy * 10 + interval / 2) / interval);
}

void add_slices(std::string& text, const Activity& activity, size_t process, size_t track,
                int64_t start) {
  const std::vector<int64_t>& busy = activity.busy();
  for (size_t first = 0; first < busy.size();) {
    const int64_t level = tenths(busy[first], activity.interval());
    size_t end = first + 1;
    while (end < busy.size() && tenths(busy[end], activity.interval()) == level) ++end;
    if (level > 0) {
      text += fmt::format(
          ",\n{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"name\":\"busy {}%\"}}",
          process, track, start + static_cast<int64_t>(first) * activity.interval(),
          static_cast<int64_t>(end - first) * activity.interval(), 10 * level);
    }
    first = end;
  }
}

}  // namespace

std::string trace_json(const Program& program, const Machine& machine, const ProgramRun& run) {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  text +=
      fmt::format("{{\"ph\":\"M\",\"pid\":0,\"name\":\"process_name\",\"args\":{{\"name\":{}}}}}",
                  json_string(program.name));
  int64_t start = 0;
  for (size_t r = 0; r < run.regions.size(); ++r) {
    const Region& region = program.regions[r];
    const RunResult& result = run.regions[r];
    text += fmt::format(
        ",\n{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_name\",\"args\":{{\"name\":{}}}}}", r + 1,
        json_string("@" + region.name));
    for (size_t n = 0; n < result.activity.size(); ++n) {
      text += fmt::format(
          ",\n{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":{}}"
          "}"
          "}}",
          r + 1, n, json_string(track_name(program, *region.graph, region.graph->nodes[n])));
      add_slices(text, result.activity[n], r + 1, n, start);
    }
    start += result.cycles + machine.reconfiguration_cycles;
  }
  return text + "\n]}\n";
}

}  // namespace fuseflow
