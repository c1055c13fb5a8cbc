// Sections on the nodes of the last run: layers, critical nodes, streams, and the graph itself.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "lower/lower.h"
#include "report/charts.h"
#include "report/collapse.h"
#include "report/html.h"
#include "report/number_text.h"
#include "report/sections.h"

namespace fuseflow {
namespace {

constexpr size_t kMostNodes = 25;
constexpr size_t kMostStreams = 20;
constexpr size_t kMostDrawn = 250;  ///< groups; more is no picture

using RegionCycles = std::map<std::string, double>;

RegionCycles cycles_by_region(const PageInput& input) {
  RegionCycles cycles;
  for (const RunRow& row : input.runs.back().regions) cycles[row.region] = row.numbers.at("cycles");
  return cycles;
}

std::map<std::string, size_t> numbers_of_regions(const PageInput& input) {
  std::map<std::string, size_t> numbers;
  if (!input.program) return numbers;
  for (size_t r = 0; r < input.program->regions.size(); ++r) {
    numbers[input.program->regions[r].name] = r;
  }
  return numbers;
}

/// What the file of nodes says, else what the program does.
Origin origin_of(const NodeRow& row, const Origins& origins,
                 const std::map<std::string, size_t>& regions) {
  if (!row.statement.empty()) return {row.statement, row.layer};
  const auto region = regions.find(row.region);
  if (region == regions.end() || region->second >= origins.size()) return {};
  const std::vector<Origin>& nodes = origins[region->second];
  const auto number = static_cast<size_t>(row.number);
  return number < nodes.size() ? nodes[number] : Origin{};
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
std::map<size_t, const NodeRow*> rows_of(const PageInput& input, const std::string& region) {
  std::map<size_t, const NodeRow*> rows;
  for (const NodeRow& row : input.nodes) {
    if (row.region == region) rows[static_cast<size_t>(row.number)] = &row;
  }
  return rows;
}

std::string region_picture(const PageInput& input, size_t r, double cycles) {
  const Region& region = input.program->regions[r];
  const Graph graph = region.graph ? *region.graph : lower_region(*input.program, r);
  const std::map<size_t, const NodeRow*> rows = rows_of(input, region.name);
  const std::vector<NodeGroup> groups = collapse_copies(graph);
  if (groups.size() > kMostDrawn) {
    return fmt::format("<p>@{}: {} nodes are too many to draw.</p>\n", html_text(region.name),
                       groups.size());
  }
  std::vector<std::string> labels;
  std::vector<std::string> fills;
  for (const NodeGroup& group : groups) {
    double busy = 0;
    for (const size_t node : group.nodes) {
      const auto row = rows.find(node);
      if (row != rows.end()) busy = std::max(busy, row->second->busy);
    }
    const Node& node = graph.nodes[group.nodes[0]];
    std::string label = fmt::format("{} {}", group.nodes[0], node_kind_name(node.kind));
    if (node.tensor >= 0) {
      label += " " + input.program->tensors[static_cast<size_t>(node.tensor)].name;
      if (node.level >= 0) label += fmt::format(".{}", node.level);
    }
    if (group.nodes.size() > 1) label += fmt::format(" x{}", group.nodes.size());
    labels.push_back(label + "\n" + percent(busy, cycles));
    fills.push_back(busy_colour(cycles > 0 ? busy / cycles : 0));
  }
  const std::string picture = input.layout(groups_dot(groups, labels, fills));
  if (picture.empty()) return "";
  return fmt::format("<h3>@{}</h3>\n<div class=\"scroll graph\">{}</div>\n", html_text(region.name),
                     picture);
}

}  // namespace

std::string layers_section(const PageInput& input, const Origins& origins) {
  if (input.nodes.empty()) return "";
  const std::map<std::string, size_t> regions = numbers_of_regions(input);
  const double all = input.runs.back().total.numbers.at("cycles");
  const auto layer = [&](const NodeRow& row) { return origin_of(row, origins, regions).layer; };
  const auto statement = [&](const NodeRow& row) {
    return origin_of(row, origins, regions).statement;
  };
  const std::map<std::string, double> statements = busiest_by(input, statement);
  if (statements.size() == 1 && statements.begin()->first.empty()) return "";
  return html_section("Layers and statements",
                      "Cycles in which the busiest node of a layer or statement was in a step. "
                      "Within a region they "
                      "overlap, so they do not add up to the run's cycles.",
                      "<h3>Layers</h3>\n" + busy_bars(busiest_by(input, layer), all) +
                          "<h3>Statements</h3>\n" + busy_bars(statements, all));
}

std::string nodes_section(const PageInput& input, const Origins& origins) {
  if (input.nodes.empty()) return "";
  const RegionCycles cycles = cycles_by_region(input);
  const std::map<std::string, size_t> regions = numbers_of_regions(input);
  const std::vector<const NodeRow*> rows = busiest_nodes(input.nodes, kMostNodes);
  std::vector<Bar> bars;
  std::vector<std::vector<std::string>> table;
  double most = 1;
  for (const NodeRow* row : rows) {
    const double all = cycles.at(row->region);
    most = std::max(most, all);
    bars.push_back({"@" + row->region + " " + node_label(*row),
                    fmt::format("busy {}, starved {}, blocked {}", percent(row->busy, all),
                                percent(row->starved, all), percent(row->blocked, all)),
                    {{"busy", row->busy}, {"starved", row->starved}, {"blocked", row->blocked}},
                    "busy " + percent(row->busy, all)});
    table.push_back({row->region, node_label(*row), origin_of(*row, origins, regions).statement,
                     grouped_number(row->busy), percent(row->busy, all), percent(row->starved, all),
                     percent(row->blocked, all), grouped_number(row->flops),
                     grouped_number(row->bytes)});
  }
  return html_section(
      "Critical nodes",
      "The nodes that were in a step for the most cycles, and what they did in the rest of their "
      "region's time: starved means waiting for tokens, blocked waiting for room only.",
      legend({{"busy", "busy"}, {"starved", "starved"}, {"blocked", "blocked"}}) +
          bar_chart(bars, most) +
          html_table({"region", "node", "statement", "busy cycles", "busy", "starved", "blocked",
                      "FLOPs", "bytes"},
                     table, 3));
}

std::string streams_section(const PageInput& input) {
  if (input.streams.empty()) return "";
  std::vector<const StreamRow*> rows;
  for (const StreamRow& row : input.streams) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const StreamRow* a, const StreamRow* b) {
    return a->peak_tokens > b->peak_tokens;
  });
  rows.resize(std::min(rows.size(), kMostStreams));
  const double depth = input.machine ? static_cast<double>(input.machine->fifo_depth) : 0;
  double full = std::max(1.0, depth);
  for (const StreamRow* row : rows) full = std::max(full, row->peak_tokens);
  std::vector<Bar> bars;
  for (const StreamRow* row : rows) {
    const std::string of = depth > 0 ? fmt::format(" of {:g}", depth) : "";
    bars.push_back({"@" + row->region + " $" + row->stream,
                    fmt::format("{} tokens in all", grouped_number(row->tokens)),
                    {{"busy", row->peak_tokens}},
                    grouped_number(row->peak_tokens) + of});
  }
  return html_section("Streams",
                      "The most tokens that were in a stream at a time, the fullest first" +
                          std::string(depth > 0 ? "; buffers may be deeper than FIFOs." : "."),
                      bar_chart(bars, full));
}

std::string graph_section(const PageInput& input) {
  if (!input.program || input.nodes.empty() || !input.layout) return "";
  const RegionCycles cycles = cycles_by_region(input);
  std::string body;
  for (size_t r = 0; r < input.program->regions.size(); ++r) {
    body += region_picture(input, r, cycles.at(input.program->regions[r].name));
  }
  return html_section(
      "Graphs",
      "Nodes are coloured by the share of the region's cycles in which they were in a "
      "step. Parallel copies are drawn as one node, with the busiest copy's share.",
      body);
}

}  // namespace fuseflow
