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
#include "report/verdicts.h"
#include "verdict/waits.h"

namespace fuseflow {
namespace {

constexpr size_t kMostBars = 25;
constexpr size_t kMostNodes = 15;
constexpr size_t kMostStreams = 20;
constexpr size_t kMostDrawn = 500;    ///< groups; more is no picture
constexpr size_t kMostPictures = 12;  ///< regions

using RegionCycles = std::map<std::string, double>;

RegionCycles cycles_by_region(const PageInput& input) {
  RegionCycles cycles;
  for (const RunRow& row : input.runs.back().regions) cycles[row.region] = row.numbers.at("cycles");
  return cycles;
}

std::string node_label(const NodeRow& row) {
  std::string text = fmt::format("{} {}", row.number, row.kind);
  for (const std::string& part : {row.function, row.tensor}) {
    if (!part.empty()) text += " " + part;
  }
  return text;
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
  sorted.resize(std::min(sorted.size(), kMostBars));
  std::vector<Bar> bars;
  for (const auto& [name, busy] : sorted) {
    const std::string label = name.empty() ? "(none)" : name;
    const std::string value = grouped_number(busy) + " (" + percent(busy, all) + ")";
    bars.push_back({label, fmt::format("{}: {}", label, value), {{"busy", busy}}, value});
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

using RowsByNode = std::map<size_t, const NodeRow*>;

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

/// A picture is made as narrow as the page, but never so small that it cannot be read.
std::string least_width(const std::string& svg) {
  constexpr double kReadable = 0.7;
  const size_t at = svg.find("width=\"");
  const double points = at == std::string::npos ? 0 : std::atof(svg.c_str() + at + 7);
  return fmt::format(" style=\"--least:{:.0f}pt\"", kReadable * points);
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
  return fmt::format("<h3>@{}</h3>\n<div class=\"scroll graph\"{}>{}</div>\n",
                     html_text(region.name), least_width(picture), picture);
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

/// What waits for what, region by region; each region is looked at once, when it is asked for.
class WaitTexts {
 public:
  explicit WaitTexts(const PageInput& input) : input_(input) {}

  /// The node that a row's node waits for, in words, or why there is none.
  std::string of(const NodeRow& row) {
    const Graph* graph = graph_named(row.region);
    if (graph == nullptr) return "not known without its graph";
    const auto [known, added] = regions_.try_emplace(row.region);
    if (added) {
      known->second.rows = rows_of(input_, row.region);
      known->second.figures = region_figures(input_, row.region, *graph);
      known->second.waits.emplace(*graph, known->second.figures);
    }
    const RegionWaits& region = known->second;
    const auto number = static_cast<size_t>(row.number);
    const std::optional<Holder> holder = region.waits->of(number);
    if (holder && holder->stream >= 0) {
      return "room in $" + graph->streams[static_cast<size_t>(holder->stream)].name;
    }
    const std::string node = holder ? node_label(*region.rows.at(holder->node)) : "";
    if (holder) return holder->memory ? "memory, for " + node : node;
    if (!mostly_works(region.figures.nodes[number])) return "none is busier";
    return row.memory > row.busy ? "memory" : "none: busy most of the time";
  }

 private:
  struct RegionWaits {
    RowsByNode rows;
    RegionFigures figures;
    std::optional<Waits> waits;
  };
  const Graph* graph_named(const std::string& name) const {
    if (!input_.program) return nullptr;
    for (const Region& region : input_.program->regions) {
      if (region.name == name && region.graph) return &*region.graph;
    }
    return nullptr;
  }

  const PageInput& input_;
  std::map<std::string, RegionWaits> regions_;
};

std::vector<std::string> node_cells(WaitTexts& waits, const NodeRow& row, double cycles) {
  const std::string statement = row.statement + (row.layer.empty() ? "" : " (" + row.layer + ")");
  return {row.region,
          node_label(row),
          statement,
          waits.of(row),
          grouped_number(row.busy),
          percent(row.busy, cycles),
          percent(row.memory, cycles),
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
  WaitTexts waits(input);
  double most = 1;
  for (const NodeRow* row : busiest_nodes(input.nodes, kMostNodes)) {
    const double all = cycles.at(row->region);
    most = std::max(most, all);
    bars.push_back({"@" + row->region + " " + node_label(*row),
                    fmt::format("busy {}, memory {}, starved {}, blocked {}",
                                percent(row->busy, all), percent(row->memory, all),
                                percent(row->starved, all), percent(row->blocked, all)),
                    {{"busy", row->busy},
                     {"memory", row->memory},
                     {"starved", row->starved},
                     {"blocked", row->blocked}},
                    "busy " + percent(row->busy, all)});
    table.push_back(node_cells(waits, *row, all));
  }
  return html_section(
      "Critical nodes",
      "The nodes that were in a step for the most cycles, and what they did in the rest of their "
      "region's time: memory means waiting for an answer of memory only, starved for tokens, "
      "blocked for room only. What a node waits for is, of the nodes that its tokens (its room) "
      "come from, the one that is busy or waits for memory for longest, or the FIFO that was full "
      "for longest; it is found in the graphs of --program.",
      legend({{"busy", "busy"},
              {"memory", "memory"},
              {"starved", "starved"},
              {"blocked", "blocked"}}) +
          bar_chart(bars, most) +
          html_table({"region", "node", "statement", "waits for", "busy cycles", "busy", "memory",
                      "starved", "blocked", "FLOPs", "bytes"},
                     table, 4));
}

namespace {

/// Tokens that the streams of buffers have room for, by region and stream.
std::map<std::pair<std::string, std::string>, double> buffer_depths(const PageInput& input) {
  std::map<std::pair<std::string, std::string>, double> depths;
  if (!input.program) return depths;
  for (const Region& region : input.program->regions) {
    if (!region.graph) continue;
    for (const Node& node : region.graph->nodes) {
      if (node.kind != NodeKind::buffer || node.outputs[0] < 0) continue;
      const Stream& stream = region.graph->streams[static_cast<size_t>(node.outputs[0])];
      depths[{region.name, stream.name}] = static_cast<double>(node.capacity);
    }
  }
  return depths;
}

}  // namespace

std::string streams_section(const PageInput& input) {
  if (input.streams.empty()) return "";
  struct Fill {
    const StreamRow* row = nullptr;
    double depth = 0, share = 0;  ///< depth 0: not known, or unbounded
  };
  const double fifo = input.machine ? static_cast<double>(input.machine->fifo_depth) : 0;
  const auto buffers = buffer_depths(input);
  std::vector<Fill> fills;
  double most = 1;
  for (const StreamRow& row : input.streams) {
    const auto buffer = buffers.find({row.region, row.stream});
    const double depth = buffer == buffers.end() ? fifo : buffer->second;
    fills.push_back({&row, depth, depth > 0 ? row.peak_tokens / depth : 0});
    most = std::max(most, row.peak_tokens);
  }
  std::stable_sort(fills.begin(), fills.end(), [](const Fill& a, const Fill& b) {
    return std::tuple(a.row->blocked, a.share, a.row->peak_tokens) >
           std::tuple(b.row->blocked, b.share, b.row->peak_tokens);
  });
  const auto full =
      std::count_if(fills.begin(), fills.end(), [](const Fill& f) { return f.share >= 1; });
  fills.resize(std::min(fills.size(), kMostStreams));
  const bool bounded = fills[0].depth > 0;
  std::vector<Bar> bars;
  for (const Fill& fill : fills) {
    const std::string of = fill.depth > 0 ? " of " + grouped_number(fill.depth) : "";
    const double blocked = fill.row->blocked;
    const std::string held =
        blocked > 0 ? fmt::format(", blocked {} cycles", grouped_number(blocked)) : "";
    bars.push_back({"@" + fill.row->region + " $" + fill.row->stream,
                    fmt::format("{} tokens in all", grouped_number(fill.row->tokens)),
                    {{fill.share >= 1 ? "blocked" : "busy",
                      bounded ? fill.share : fill.row->peak_tokens / most}},
                    grouped_number(fill.row->peak_tokens) + of + held});
  }
  return html_section(
      "Streams",
      "The most tokens that were in a stream at a time" +
          std::string(bounded ? ", of those that it has room for; those first that blocked "
                                "their producers for the most cycles."
                              : "; there is room for any number."),
      (bounded ? fmt::format("<p>{} of {} streams were full at some time.</p>\n", full,
                             input.streams.size())
               : "") +
          bar_chart(bars, 1));
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
