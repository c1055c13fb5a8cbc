// Sections on the nodes of the last run: layers, critical nodes, streams, and the graph itself.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "graph/collapse.h"
#include "ir/dot.h"
#include "report/charts.h"
#include "report/critical_part.h"
#include "report/html.h"
#include "report/node_groups.h"
#include "report/number_text.h"
#include "report/sections.h"
#include "report/verdicts.h"
#include "verdict/waits.h"

namespace fuseflow {
namespace {

constexpr size_t kMostBars = 20;
constexpr size_t kMostNodes = 15;
constexpr size_t kMostStreams = 20;
constexpr size_t kMostDrawn = 500;    ///< groups; of more only a part is drawn
constexpr size_t kMostOfPart = 60;    ///< groups
constexpr size_t kMostPictures = 12;  ///< regions

using RegionCycles = std::map<std::string, double>;

RegionCycles cycles_by_region(const PageInput& input) {
  RegionCycles cycles;
  for (const RunRow& row : input.runs.back().regions) cycles[row.region] = row.numbers.at("cycles");
  return cycles;
}

std::string percent(double part, double all) {
  return all > 0 ? fmt::format("{:.1f}%", 100 * part / all) : "";
}

/// Cycles by what `key` gives of nodes: those of regions whose nodes all give the same; of others
/// the cycles of the busiest node of each.
template <typename Key>
std::map<std::string, double> cycles_by(const PageInput& input, const Key& key) {
  std::map<std::string, std::map<std::string, double>> busiest;  // by region
  for (const NodeRow& row : input.nodes) {
    double& most = busiest[row.region][key(row)];
    most = std::max(most, row.busy);
  }
  const RegionCycles cycles = cycles_by_region(input);
  std::map<std::string, double> sums;
  for (auto& [region, keys] : busiest) {
    if (keys.size() > 1) keys.erase("");  // what belongs to no part of the model
    if (keys.size() == 1) {
      sums[keys.begin()->first] += cycles.at(region);
      continue;
    }
    for (const auto& [name, busy] : keys) sums[name] += busy;
  }
  return sums;
}

/// Whether every region is of one such key.
template <typename Key>
bool are_apart(const PageInput& input, const Key& key) {
  std::map<std::string, std::set<std::string>> keys;
  for (const NodeRow& row : input.nodes) {
    if (!key(row).empty()) keys[row.region].insert(key(row));
  }
  return std::all_of(keys.begin(), keys.end(),
                     [](const auto& region) { return region.second.size() <= 1; });
}

std::string cycle_bars(const PageView& view, const std::map<std::string, double>& sums,
                       double all) {
  std::vector<std::pair<std::string, double>> sorted(sums.begin(), sums.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<double> cycles;
  for (const auto& [name, spent] : sorted) cycles.push_back(spent);
  const size_t shown = worth_a_bar(cycles, all, kMostBars);
  std::vector<Bar> bars;
  for (size_t i = 0; i < shown; ++i) {
    const auto& [name, spent] = sorted[i];
    const std::string label = name.empty() ? "(none)" : name;
    const std::string value = grouped_number(spent) + " (" + percent(spent, all) + ")";
    bars.push_back({view.names.of(label),
                    fmt::format("{}: {} cycles", label, value),
                    {{"busy", spent}},
                    value});
  }
  const std::string more =
      shown < sorted.size() ? fmt::format("<p>{} more</p>\n", sorted.size() - shown) : "";
  return bars.empty() ? "" : bar_chart(bars, std::max(1.0, cycles[0])) + more;
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

/// A picture is made as narrow as the page, but never so small that it cannot be read.
std::string least_width(const std::string& svg) {
  constexpr double kReadable = 0.7;
  const size_t at = svg.find("width=\"");
  const double points = at == std::string::npos ? 0 : std::atof(svg.c_str() + at + 7);
  return fmt::format(" style=\"--least:{:.0f}pt\"", kReadable * points);
}

/// What is drawn of a graph: all of it, or the part around its busiest nodes.
std::optional<std::set<size_t>> drawn_part(const Graph& graph, const RowsByNode& rows,
                                           std::string& caption) {
  const std::vector<NodeGroup> groups = collapse_copies(graph);
  if (groups.size() <= kMostDrawn) return std::nullopt;
  std::set<size_t> nodes;
  for (const size_t group : critical_part(groups, rows, kMostOfPart)) {
    nodes.insert(groups[group].nodes[0]);
  }
  caption = fmt::format(
      "<p>Of {} nodes, which are too many to draw, the {} around the busiest one. "
      "fuseflow-dot draws all.</p>\n",
      groups.size(), nodes.size());
  return nodes;
}

std::string region_picture(const PageView& view, size_t r, double cycles) {
  const Region& region = view.input.program->regions[r];
  if (!region.graph) return "";
  const RowsByNode rows = rows_of(view.input, region.name);
  std::string caption;
  DotOptions options;
  options.region = r;
  options.nodes = drawn_part(*region.graph, rows, caption);
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
  const std::string picture = view.input.layout(print_dot(*view.input.program, options));
  if (picture.empty()) return "";
  return fmt::format("<h3 title=\"{}\">@{}</h3>\n{}<div class=\"scroll drawing\"{}>{}</div>\n",
                     html_text(region.name), html_text(view.names.of(region.name)), caption,
                     least_width(picture), picture);
}

}  // namespace

HtmlSection layers_section(const PageView& view) {
  const PageInput& input = view.input;
  if (input.nodes.empty()) return {};
  const double all = input.runs.back().total.numbers.at("cycles");
  const auto layer = [](const NodeRow& row) { return row.layer; };
  const auto statement = [](const NodeRow& row) { return row.statement; };
  const std::map<std::string, double> statements = cycles_by(input, statement);
  if (statements.size() == 1 && statements.begin()->first.empty()) return {};
  const std::map<std::string, double> layers = cycles_by(input, layer);
  const bool layered = layers.size() > 1 || !layers.begin()->first.empty();
  const bool apart = are_apart(input, layer) && are_apart(input, statement);
  return {"layers", "Layers and statements", layered ? fmt::format("{} layers", layers.size()) : "",
          apart ? "Cycles of the regions that compute a layer or statement."
                : "Cycles of the regions that compute a layer or statement alone. Where a region "
                  "computes several, those in which the busiest node of each was in a step: they "
                  "overlap, so all do not add up to the run's cycles.",
          (layered ? "<h3>Layers</h3>\n" + cycle_bars(view, layers, all) : "") +
              "<h3>Statements</h3>\n" + cycle_bars(view, statements, all)};
}

namespace {

/// Streams are called by a tensor and what they carry of it: "/gat1/lin/MatMul_output_0.v".
std::string short_stream(const std::string& stream, const ShortNames& names) {
  const size_t dot = stream.rfind('.');
  if (dot == std::string::npos) return names.of(stream);
  return names.of(stream.substr(0, dot)) + stream.substr(dot);
}

/// What waits for what, region by region; each region is looked at once, when it is asked for.
class WaitTexts {
 public:
  explicit WaitTexts(const PageView& view) : input_(view.input), names_(view.names) {}

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
      return "room in $" +
             short_stream(graph->streams[static_cast<size_t>(holder->stream)].name, names_);
    }
    const std::string node = holder ? node_label(*region.rows.at(holder->node), names_) : "";
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
  const ShortNames& names_;
  std::map<std::string, RegionWaits> regions_;
};

std::vector<HtmlCell> node_cells(const PageView& view, WaitTexts& waits, const BusyGroup& group,
                                 double cycles) {
  const NodeRow& row = *group.row;
  const std::string layer = row.layer.empty() ? "" : " (" + row.layer + ")";
  return {view.cell(row.region),
          {node_label(row, view.names), node_label(row, {})},
          group.copies > 1 ? std::to_string(group.copies) : "",
          {view.names.of(row.statement) + layer, row.statement + layer},
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

HtmlSection nodes_section(const PageView& view) {
  const PageInput& input = view.input;
  if (input.nodes.empty()) return {};
  const RegionCycles cycles = cycles_by_region(input);
  std::vector<Bar> bars;
  std::vector<std::vector<HtmlCell>> table;
  WaitTexts waits(view);
  for (const BusyGroup& group : busiest_groups(input, kMostNodes)) {
    const NodeRow& row = *group.row;
    const double all = std::max(1.0, cycles.at(row.region));
    bars.push_back(
        {"@" + view.names.of(row.region) + " " + node_label(row, view.names),
         fmt::format("@{} {}: busy {}, memory {}, starved {}, blocked {}", row.region,
                     node_label(row, {}), percent(row.busy, all), percent(row.memory, all),
                     percent(row.starved, all), percent(row.blocked, all)),
         {{"busy", row.busy / all},
          {"memory", row.memory / all},
          {"starved", row.starved / all},
          {"blocked", row.blocked / all}},
         "busy " + percent(row.busy, all)});
    table.push_back(node_cells(view, waits, group, all));
  }
  return {
      "nodes", "Critical nodes", bars[0].label + ", " + bars[0].value,
      "The nodes that were in a step for the most cycles, and what they did in the rest of their "
      "region's time; of parallel copies the busiest one. Memory means waiting for an answer of "
      "memory only, starved for tokens, blocked for room only. What a node waits for is, of the "
      "nodes that its tokens (its room) come from, the one that is busy or waits for memory for "
      "longest, or the FIFO that was full for longest; it is found in the graphs of --program.",
      legend({{"busy", "busy"},
              {"memory", "memory"},
              {"starved", "starved"},
              {"blocked", "blocked"}}) +
          bar_chart(bars, 1) +
          html_table({"region", "node", "copies", "statement", "waits for", "busy cycles", "busy",
                      "memory", "starved", "blocked", "FLOPs", "bytes"},
                     table, 5)};
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

HtmlSection streams_section(const PageView& view) {
  const PageInput& input = view.input;
  if (input.streams.empty()) return {};
  struct Fill {
    const StreamRow* row = nullptr;
    size_t copies = 1;
    double depth = 0, share = 0;  ///< depth 0: not known, or unbounded
  };
  const double fifo = input.machine ? static_cast<double>(input.machine->fifo_depth) : 0;
  const auto buffers = buffer_depths(input);
  const auto depth_of = [&](const StreamRow& row) {
    const auto buffer = buffers.find({row.region, row.stream});
    return buffer == buffers.end() ? fifo : buffer->second;
  };
  std::vector<Fill> fills;
  double most = 1;
  for (const auto& [row, copies] : stream_groups(input)) {
    const double depth = depth_of(*row);
    fills.push_back({row, copies, depth, depth > 0 ? row->peak_tokens / depth : 0});
    most = std::max(most, row->peak_tokens);
  }
  std::stable_sort(fills.begin(), fills.end(), [](const Fill& a, const Fill& b) {
    return std::tuple(a.row->blocked, a.share, a.row->peak_tokens) >
           std::tuple(b.row->blocked, b.share, b.row->peak_tokens);
  });
  const size_t full = std::count_if(  // each copy by itself
      input.streams.begin(), input.streams.end(), [&](const StreamRow& row) {
        const double depth = depth_of(row);
        return depth > 0 && row.peak_tokens >= depth;
      });
  fills.resize(std::min(fills.size(), kMostStreams));
  const bool bounded = fills[0].depth > 0;
  const bool held_up = fills[0].row->blocked > 0;
  if (held_up) std::erase_if(fills, [](const Fill& fill) { return fill.row->blocked <= 0; });
  const RegionCycles cycles = cycles_by_region(input);
  std::vector<Bar> bars;
  for (const Fill& fill : fills) {
    const std::string of = fill.depth > 0 ? " of " + grouped_number(fill.depth) : "";
    const std::string copies = fill.copies > 1 ? fmt::format(" of {} copies", fill.copies) : "";
    const double blocked = fill.row->blocked;
    const std::string held =
        blocked > 0 ? fmt::format(", blocked {} cycles", grouped_number(blocked)) : "";
    const BarPart filled = {fill.share >= 1 ? "blocked" : "busy",
                            bounded ? fill.share : fill.row->peak_tokens / most};
    const BarPart waited = {"blocked", blocked / std::max(1.0, cycles.at(fill.row->region))};
    bars.push_back({"@" + view.names.of(fill.row->region) + " $" +
                        short_stream(fill.row->stream, view.names) + copies,
                    fmt::format("@{} ${}{}: {} tokens in all", fill.row->region, fill.row->stream,
                                copies, grouped_number(fill.row->tokens)),
                    {held_up ? waited : filled},
                    grouped_number(fill.row->peak_tokens) + of + held});
  }
  const std::string fullness =
      fmt::format("{} of {} streams were full at some time", full, input.streams.size());
  return {"streams", "Streams", bounded ? fullness : "",
          held_up ? "Streams that were full while nothing else held up their producers: for what "
                    "share of their regions' cycles. Beside the bar stands the most tokens that "
                    "were in the stream at a time, of those that it has room for."
                  : "The most tokens that were in a stream at a time" +
                        std::string(bounded ? ", of those that it has room for."
                                            : "; there is room for any number."),
          (bounded ? "<p>" + fullness + ".</p>\n" : "") + bar_chart(bars, 1)};
}

HtmlSection graph_section(const PageView& view) {
  const PageInput& input = view.input;
  if (!input.program || input.nodes.empty() || !input.layout) return {};
  const RegionCycles cycles = cycles_by_region(input);
  const std::vector<Region>& regions = input.program->regions;
  std::vector<size_t> order(regions.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return cycles.at(regions[a].name) > cycles.at(regions[b].name);
  });
  order.resize(std::min(order.size(), kMostPictures));
  std::string body;
  for (const size_t r : order) body += region_picture(view, r, cycles.at(regions[r].name));
  if (body.empty()) return {};
  if (order.size() < regions.size()) {
    body += fmt::format("<p>(+{} shorter regions)</p>\n", regions.size() - order.size());
  }
  return {"graphs", "Graphs", fmt::format("{} of {} regions", order.size(), regions.size()),
          "Nodes are coloured by the share of the region's cycles in which they were in a "
          "step. Parallel copies are drawn as one node, with the busiest copy's share. Lines: "
          "coordinates dashed, references dotted, values solid.",
          busy_scale() + body};
}

}  // namespace fuseflow
