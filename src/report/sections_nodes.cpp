// Sections on the nodes of the last run: layers, critical nodes, streams, and the graph itself.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "graph/collapse.h"
#include "ir/dot.h"
#include "report/charts.h"
#include "report/html.h"
#include "report/number_text.h"
#include "report/sections.h"
#include "report/waits.h"

namespace fuseflow {
namespace {

constexpr size_t kMostNodes = 25;
constexpr size_t kMostStreams = 20;
constexpr size_t kMostDrawn = 250;    ///< groups; more is no picture
constexpr size_t kMostPictures = 12;  ///< regions

using RegionCycles = std::map<std::string, double>;

RegionCycles cycles_by_region(const PageInput& input) {
  RegionCycles cycles;
  for (const RunRow& row : input.runs.back().regions) cycles[row.region] = row.numbers.at("cycles");
  return cycles;
}

std::string node_label(const NodeRow& row) {
  return fmt::format("{} {}{}", row.number, row.kind, row.tensor.empty() ? "" : " " + row.tensor);
}

std::string percent(double part, double all) {
  return all > 0 ? fmt::format("{:.1f}%", 100 * part / all) : "";
}

/// Cycles of the busiest node, by region and by what `key` gives; then added up over regions.
template <typename Key>
std::map<std::string, double> busiest_by(const PageInput& input, const Key& key) {
  std::map<std::pair<std::string, std::string>, double> busiest;
  for (const NodeRow& row : input.nodes) {
    double& most = busiest[{key(row), row.region}];
    most = std::max(most, row.busy);
  }
  std::map<std::string, double> sums;
  for (const auto& [place, busy] : busiest) sums[place.first] += busy;
  return sums;
}

std::string busy_bars(const std::map<std::string, double>& sums, double all) {
  std::vector<std::pair<std::string, double>> sorted(sums.begin(), sums.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  sorted.resize(std::min(sorted.size(), kMostNodes));
  std::vector<Bar> bars;
  for (const auto& [name, busy] : sorted) {
    const std::string label = name.empty() ? "(not known)" : name;
    const std::string value = grouped_number(busy) + " (" + percent(busy, all) + ")";
    bars.push_back({label, label + ": " + value, {{"busy", busy}}, value});
  }
  return bars.empty() ? "" : bar_chart(bars, std::max(1.0, sorted[0].second));
}

/// From white (idle) to blue (always busy).
std::string busy_colour(double share) {
  const double s = std::clamp(share, 0.0, 1.0);
  const auto mix = [&](int idle, int busy) {
    return static_cast<int>(std::lround(idle + s * (busy - idle)));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(0xff, 0x5a), mix(0xff, 0xa3), mix(0xff, 0xe0));
}

/// Rows of one region, by the number of the node.
RowsByNode rows_of(const PageInput& input, const std::string& region) {
  RowsByNode rows;
  for (const NodeRow& row : input.nodes) {
    if (row.region == region) rows[static_cast<size_t>(row.number)] = &row;
  }
  return rows;
}

/// Five steps of the colours of busy shares.
std::string busy_scale() {
  std::string out = "<p class=\"scale\">share of the cycles: ";
  for (const int percent : {0, 25, 50, 75, 100}) {
    out += fmt::format("<span style=\"background:{}\">{}%</span> ", busy_colour(percent / 100.0),
                       percent);
  }
  return out + "</p>\n";
}

std::string region_picture(const PageInput& input, size_t r, double cycles) {
  const Region& region = input.program->regions[r];
  if (!region.graph) return "";
  const size_t groups = collapse_copies(*region.graph).size();
  if (groups > kMostDrawn) {
    return fmt::format("<p>@{}: {} nodes are too many to draw.</p>\n", html_text(region.name),
                       groups);
  }
  const RowsByNode rows = rows_of(input, region.name);
  DotOptions options;
  options.region = r;
  options.legend = false;
  options.tensors = false;  // nodes name them
  options.look = [&](size_t, const std::vector<size_t>& nodes) {
    double busy = 0;
    for (const size_t node : nodes) {
      const auto row = rows.find(node);
      if (row != rows.end()) busy = std::max(busy, row->second->busy);
    }
    return NodeLook{percent(busy, cycles), busy_colour(cycles > 0 ? busy / cycles : 0)};
  };
  const std::string picture = input.layout(print_dot(*input.program, options));
  if (picture.empty()) return "";
  return fmt::format("<h3>@{}</h3>\n<div class=\"scroll graph\">{}</div>\n", html_text(region.name),
                     picture);
}

}  // namespace

std::string layers_section(const PageInput& input) {
  if (input.nodes.empty()) return "";
  const double all = input.runs.back().total.numbers.at("cycles");
  const auto layer = [&](const NodeRow& row) { return row.layer; };
  const auto statement = [&](const NodeRow& row) { return row.statement; };
  const std::map<std::string, double> statements = busiest_by(input, statement);
  if (statements.size() == 1 && statements.begin()->first.empty()) return "";
  return html_section("Layers and statements",
                      "Cycles in which the busiest node of a layer or statement was in a step. "
                      "Within a region they "
                      "overlap, so they do not add up to the run's cycles.",
                      "<h3>Layers</h3>\n" + busy_bars(busiest_by(input, layer), all) +
                          "<h3>Statements</h3>\n" + busy_bars(statements, all));
}

namespace {

/// The node of another number that a row's node waits for, in words; empty where that is not known.
std::string wait_text(const PageInput& input, const NodeRow& row) {
  if (!input.program) return "";
  for (const Region& region : input.program->regions) {
    if (region.name != row.region || !region.graph) continue;
    const RowsByNode rows = rows_of(input, row.region);
    const auto node = Waits(*region.graph, rows).of(static_cast<size_t>(row.number));
    if (node) return node_label(*rows.at(*node));
  }
  return "";
}

std::vector<std::string> node_cells(const PageInput& input, const NodeRow& row, double cycles) {
  const std::string statement = row.statement + (row.layer.empty() ? "" : " (" + row.layer + ")");
  return {row.region,
          node_label(row),
          statement,
          wait_text(input, row),
          grouped_number(row.busy),
          percent(row.busy, cycles),
          percent(row.starved, cycles),
          percent(row.blocked, cycles),
          grouped_number(row.flops),
          grouped_number(row.bytes)};
}

}  // namespace

std::string nodes_section(const PageInput& input) {
  if (input.nodes.empty()) return "";
  const RegionCycles cycles = cycles_by_region(input);
  std::vector<Bar> bars;
  std::vector<std::vector<std::string>> table;
  double most = 1;
  for (const NodeRow* row : busiest_nodes(input.nodes, kMostNodes)) {
    const double all = cycles.at(row->region);
    most = std::max(most, all);
    bars.push_back({"@" + row->region + " " + node_label(*row),
                    fmt::format("busy {}, starved {}, blocked {}", percent(row->busy, all),
                                percent(row->starved, all), percent(row->blocked, all)),
                    {{"busy", row->busy}, {"starved", row->starved}, {"blocked", row->blocked}},
                    "busy " + percent(row->busy, all)});
    table.push_back(node_cells(input, *row, all));
  }
  return html_section(
      "Critical nodes",
      "The nodes that were in a step for the most cycles, and what they did in the rest of their "
      "region's time: starved means waiting for tokens, blocked waiting for room only. What a node "
      "waits for is the busiest of the nodes that its tokens (its room) come from.",
      legend({{"busy", "busy"}, {"starved", "starved"}, {"blocked", "blocked"}}) +
          bar_chart(bars, most) +
          html_table({"region", "node", "statement", "waits for", "busy cycles", "busy", "starved",
                      "blocked", "FLOPs", "bytes"},
                     table, 4));
}

namespace {

/// Tokens that a stream has room for: as many as its buffer, if it comes from one; 0: not known, or
/// unbounded.
double depth_of(const PageInput& input, const StreamRow& row) {
  const double fifo = input.machine ? static_cast<double>(input.machine->fifo_depth) : 0;
  if (!input.program) return fifo;
  for (const Region& region : input.program->regions) {
    if (region.name != row.region || !region.graph) continue;
    for (const Node& node : region.graph->nodes) {
      if (node.kind != NodeKind::buffer || node.outputs[0] < 0) continue;
      const Stream& stream = region.graph->streams[static_cast<size_t>(node.outputs[0])];
      if (stream.name == row.stream) return static_cast<double>(node.capacity);
    }
  }
  return fifo;
}

}  // namespace

std::string streams_section(const PageInput& input) {
  if (input.streams.empty()) return "";
  std::vector<const StreamRow*> rows;
  for (const StreamRow& row : input.streams) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const StreamRow* a, const StreamRow* b) {
    return a->peak_tokens > b->peak_tokens;
  });
  rows.resize(std::min(rows.size(), kMostStreams));
  double full = 1;
  for (const StreamRow* row : rows)
    full = std::max({full, row->peak_tokens, depth_of(input, *row)});
  std::vector<Bar> bars;
  for (const StreamRow* row : rows) {
    const double depth = depth_of(input, *row);
    const bool filled = depth > 0 && row->peak_tokens >= depth;
    const std::string of = depth > 0 ? " of " + grouped_number(depth) : "";
    bars.push_back({"@" + row->region + " $" + row->stream,
                    fmt::format("{} tokens in all", grouped_number(row->tokens)),
                    {{filled ? "blocked" : "busy", row->peak_tokens}},
                    grouped_number(row->peak_tokens) + of});
  }
  return html_section(
      "Streams",
      "The most tokens that were in a stream at a time, of those that it has room "
      "for; the most first. A stream that was full may have held up its producer.",
      legend({{"busy", "room left"}, {"blocked", "was full"}}) + bar_chart(bars, full));
}

std::string graph_section(const PageInput& input) {
  if (!input.program || input.nodes.empty() || !input.layout) return "";
  const RegionCycles cycles = cycles_by_region(input);
  const std::vector<Region>& regions = input.program->regions;
  std::vector<size_t> order(regions.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return cycles.at(regions[a].name) > cycles.at(regions[b].name);
  });
  order.resize(std::min(order.size(), kMostPictures));
  std::string body;
  for (const size_t r : order) body += region_picture(input, r, cycles.at(regions[r].name));
  if (body.empty()) return "";
  if (order.size() < regions.size()) {
    body += fmt::format("<p>(+{} shorter regions)</p>\n", regions.size() - order.size());
  }
  return html_section(
      "Graphs",
      "Nodes are coloured by the share of the region's cycles in which they were in a "
      "step. Parallel copies are drawn as one node, with the busiest copy's share. Lines: "
      "coordinates dashed, references dotted, values solid.",
      busy_scale() + body);
}

}  // namespace fuseflow
