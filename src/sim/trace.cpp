#include "sim/trace.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuseflow {
namespace {

constexpr size_t kMostIntervals = 4096;

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
      continue;
    }
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

void Activity::fit(int64_t last) {
  while (last / interval_ >= static_cast<int64_t>(kMostIntervals)) {
    for (size_t k = 0; k < busy_.size(); ++k) {
      const int64_t sum = busy_[k];
      busy_[k] = 0;
      busy_[k / 2] += sum;
    }
    busy_.resize((busy_.size() + 1) / 2);
    interval_ *= 2;
  }
  const auto needed = static_cast<size_t>(last / interval_) + 1;
  if (busy_.size() < needed) busy_.resize(needed, 0);
}

void Activity::add(int64_t first, int64_t last) {
  fit(last);
  for (int64_t at = first; at <= last;) {
    const int64_t end = std::min(last, (at / interval_ + 1) * interval_ - 1);
    busy_[static_cast<size_t>(at / interval_)] += end - at + 1;
    at = end + 1;
  }
}

void Trace::begin_region(const Region& region, int64_t start) {
  parts_.push_back({&region, start, std::vector<Activity>(region.graph->nodes.size())});
}

void Trace::add(NodeId node, int64_t first, int64_t last) {
  parts_.back().nodes[static_cast<size_t>(node)].add(first, last);
}

std::string Trace::json(const Program& program) const {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  text +=
      fmt::format("{{\"ph\":\"M\",\"pid\":0,\"name\":\"process_name\",\"args\":{{\"name\":{}}}}}",
                  quoted(program.name));
  for (size_t p = 0; p < parts_.size(); ++p) {
    const Part& part = parts_[p];
    const Graph& graph = *part.region->graph;
    text += fmt::format(
        ",\n{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_name\",\"args\":{{\"name\":{}}}}}", p + 1,
        quoted("@" + part.region->name));
    for (size_t n = 0; n < part.nodes.size(); ++n) {
      text += fmt::format(
          ",\n{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":{}}"
          "}}}",
          p + 1, n, quoted(track_name(program, graph, graph.nodes[n])));
      add_slices(text, part.nodes[n], p + 1, n, part.start);
    }
  }
  return text + "\n]}\n";
}

}  // namespace fuseflow
