// Sections on whole runs: what ran, the comparison with the baseline, regions, roofline, and the
// search.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/print.h"
#include "report/charts.h"
#include "report/html.h"
#include "report/metric.h"
#include "report/number_text.h"
#include "report/sections.h"
#include "tensor/source.h"

namespace fuseflow {
namespace {

constexpr size_t kMostRegions = 15;

/// A text column of the totals; empty where the report has none.
std::string text_of(const RunTable& run, const std::string& column) {
  const auto found = run.total.texts.find(column);
  return found == run.total.texts.end() ? "" : found->second;
}

/// Simulated time in the unit that suits it; empty where the report has none.
std::string time_text(const RunTable& run) {
  const auto found = run.total.numbers.find("seconds");
  if (found == run.total.numbers.end()) return "";
  const double seconds = found->second;
  if (seconds >= 1) return fmt::format("{:.4g} s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:.4g} ms", 1e3 * seconds)
                         : fmt::format("{:.4g} us", 1e6 * seconds);
}

std::vector<HtmlCell> run_cells(const RunTable& run, const RunTable& baseline) {
  std::vector<HtmlCell> cells = {run.file, text_of(run, "strategy")};
  for (const std::string_view name : {"cycles", "dram_bytes", "flops"}) {
    const Metric& metric = *find_metric(name);
    const std::optional<double> value = value_of(metric, run.total);
    const std::optional<double> before = value_of(metric, baseline.total);
    cells.push_back(value ? grouped_number(*value) : "");
    if (name == "cycles") {
      cells.push_back(time_text(run));
      cells.push_back(speed_up_text(time_of(baseline.total), time_of(run.total)));
    } else {
      cells.push_back(value && before && *before > 0 ? percent_change(*value / *before - 1) : "");
    }
  }
  const std::optional<double> energy = value_of(*find_metric("energy_pj"), run.total);
  cells.push_back(energy ? energy_text(*energy) : "");
  cells.push_back(text_of(run, "checked"));
  return cells;
}

Bar cycle_bar(const std::string& label, double cycles, double all) {
  const std::string share = all > 0 ? fmt::format(" ({:.1f}%)", 100 * cycles / all) : "";
  const std::string value = grouped_number(cycles) + share;
  return {label, label + ": " + value + " cycles", {{"busy", cycles}}, value};
}

/// What has no bar of its own.
std::string left_out(const std::vector<double>& cycles, size_t shown, double all) {
  if (shown == cycles.size()) return "";
  double rest = 0;
  for (size_t i = shown; i < cycles.size(); ++i) rest += cycles[i];
  const std::string share = all > 0 ? fmt::format(" ({:.1f}%)", 100 * rest / all) : "";
  return fmt::format("<p>{} more: {} cycles together{}</p>\n", cycles.size() - shown,
                     grouped_number(rest), share);
}

double cycles_of(const RunRow& row) {
  return row.numbers.at("cycles");
}

/// Cycles of the best partition of the kernels into runs, by what is known of each run; infinite
/// while there is none. `known[first][last]`: cycles of the best point; `pause`: between two runs.
double best_program(const std::map<std::pair<int64_t, int64_t>, double>& known, int64_t kernels,
                    double pause) {
  std::vector<double> best(static_cast<size_t>(kernels) + 1, HUGE_VAL);
  best[0] = 0;
  for (const auto& [run, cycles] : known) {  // ascending by first kernel: best[first] is final
    const auto first = static_cast<size_t>(run.first);
    const auto next = static_cast<size_t>(run.second) + 1;
    best[next] = std::min(best[next], best[first] + (first > 0 ? pause : 0) + cycles);
  }
  return best.back();
}

}  // namespace

HtmlSection runs_section(const PageView& view) {
  const PageInput& input = view.input;
  std::vector<std::vector<HtmlCell>> rows;
  std::vector<Bar> bars;
  double most = 1;
  for (const RunTable& run : input.runs) {
    rows.push_back(run_cells(run, input.runs[0]));
    bars.push_back(cycle_bar(run.file, cycles_of(run.total), 0));
    most = std::max(most, cycles_of(run.total));
  }
  std::string body = html_table({"run", "strategy", "cycles", "time", "speed-up", "DRAM bytes",
                                 "change", "FLOPs", "change", "energy", "checked"},
                                rows, 2);
  if (input.runs.size() > 1) body += bar_chart(bars, most);
  const RunTable& last = input.runs.back();
  const std::string times = speed_up_text(time_of(input.runs[0].total), time_of(last.total));
  const bool compared = input.runs.size() > 1 && !times.empty();
  const std::string gist = grouped_number(cycles_of(last.total)) + " cycles" +
                           (compared ? ", " + times + " the first run's speed" : "");
  return {"runs",
          "Runs",
          gist,
          "Speed-ups and changes are against the first run, the baseline. Time is what "
          "the machine would take by its clock; speed-ups are of times. Checked: ok, if every "
          "element was "
          "compared and is right; undecided, if rounding may explain some.",
          body,
          true};
}

namespace {

using KeyValues = std::vector<std::vector<HtmlCell>>;  ///< name and value

/// Bytes a cycle that memory can move for what ran; 0: it takes no time, or is not known.
double memory_rate(const PageInput& input) {
  if (!input.machine) return 0;
  bool tiles = !input.machine->has_streams;
  if (input.program) {
    const std::vector<Region>& regions = input.program->regions;
    tiles = std::any_of(regions.begin(), regions.end(),
                        [](const Region& region) { return region.graph && region.graph->tiles; });
  }
  return input.machine->memory_bytes_per_cycle(tiles);
}

void add_machine(const Machine& machine, double bandwidth, KeyValues& facts) {
  std::string text = fmt::format("{:g} GHz", machine.clock_gigahertz);
  text += bandwidth > 0 ? fmt::format(", memory {:g} bytes/cycle ({:.4g} GB/s)", bandwidth,
                                      bandwidth * machine.clock_gigahertz)
                        : ", memory takes no time";
  text += machine.fifo_depth > 0 ? fmt::format(", FIFOs of {}", machine.fifo_depth)
                                 : ", unbounded FIFOs";
  facts.push_back({"", text});
}

void add_program(const Program& program, KeyValues& facts) {
  std::set<std::string> models, data;
  for (const Tensor& tensor : program.tensors) {
    if (tensor.source.kind == Source::Kind::onnx) models.insert(tensor.source.path);
    if (tensor.role == Role::input && tensor.source.kind != Source::Kind::none) {
      data.insert(fmt::format("{}: {}", tensor.name, to_string(tensor.source)));
    }
  }
  size_t statements = 0, nodes = 0;
  for (const Region& region : program.regions) {
    statements += region.statements.size();
    nodes += region.graph ? region.graph->nodes.size() : 0;
  }
  const auto counted = [](size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  facts.push_back({"", counted(statements, "statement") + " in " +
                           counted(program.regions.size(), "region") + ", " +
                           counted(nodes, "node")});
  for (const std::string& model : models) facts.push_back({"model", model});
  for (const std::string& one : data) facts.push_back({"data", one});
}

}  // namespace

HtmlSection setting_section(const PageView& view) {
  const PageInput& input = view.input;
  const RunTable& run = input.runs.back();
  KeyValues facts = {{"program", run.program}};
  if (input.program) add_program(*input.program, facts);
  std::string machine = run.machine;
  if (input.machine && !input.machine->description.empty()) {
    machine += ": " + input.machine->description;
  }
  facts.push_back({"machine", machine});
  if (input.machine) add_machine(*input.machine, memory_rate(input), facts);
  facts.push_back({"tools", fmt::format("fuseflow {}, language {}", input.version, kTextVersion)});
  return {"ran",
          "What ran",
          "",
          "The last of the runs, " + run.file + ".",
          html_table({"", ""}, facts, 2),
          true};
}

HtmlSection inputs_section(const PageView& view) {
  const PageInput& input = view.input;
  if (!input.program) return {};
  std::vector<std::vector<HtmlCell>> rows;
  for (const Tensor& tensor : input.program->tensors) {
    if (!tensor.given()) continue;
    std::string shape;
    for (const Extent& extent : tensor.shape) {
      shape += (shape.empty() ? "" : " x ") +
               (extent.known() ? std::to_string(extent.value) : extent.symbol);
    }
    rows.push_back({view.cell(tensor.name), std::string(role_name(tensor.role)), shape,
                    to_string(tensor.format), to_string(tensor.source)});
  }
  if (rows.empty()) return {};
  return {"data", "Data", fmt::format("{} inputs and constants", rows.size()),
          "Inputs and constants of the program, with the source of their data.",
          html_table({"tensor", "role", "shape", "format", "source"}, rows, 5)};
}

HtmlSection regions_section(const PageView& view) {
  const PageInput& input = view.input;
  const RunTable& run = input.runs.back();
  const std::vector<const RunRow*> rows = longest_regions(run, run.regions.size());
  if (rows.empty()) return {};
  std::vector<double> cycles;
  for (const RunRow* row : rows) cycles.push_back(cycles_of(*row));
  const double all = cycles_of(run.total);
  const size_t shown = worth_a_bar(cycles, all, kMostRegions);
  std::vector<Bar> bars;
  for (size_t i = 0; i < shown; ++i) {
    bars.push_back(cycle_bar(view.names.of(rows[i]->region), cycles[i], all));
    bars.back().hint = rows[i]->region + ": " + bars.back().value + " cycles";
  }
  return {
      "regions",
      "Regions",
      fmt::format("{}; the longest is {}, {}", run.regions.size(), bars[0].label, bars[0].value),
      "Cycles of each region of " + run.file + ", the longest first.",
      bar_chart(bars, std::max(1.0, cycles[0])) + left_out(cycles, shown, all),
      true};
}

namespace {

/// Where a region or a run is under the roofs.
struct Intensity {
  double flops_per_byte = 0, flops_per_cycle = 0;
};

std::optional<Intensity> intensity_of(const RunRow& row) {
  const double flops = value_of(*find_metric("flops"), row).value_or(0);
  const double bytes = value_of(*find_metric("dram_bytes"), row).value_or(0);
  if (flops <= 0 || bytes <= 0 || cycles_of(row) <= 0) return std::nullopt;
  return Intensity{flops / bytes, flops / cycles_of(row)};
}

PlotPoint plot_point(const std::string& label, const std::string& name, const Intensity& at,
                     const char* colour) {
  return {at.flops_per_byte, at.flops_per_cycle, label,
          fmt::format("{}: {:.3g} FLOP/cycle, {:.3g} FLOP/byte", name, at.flops_per_cycle,
                      at.flops_per_byte),
          colour};
}

/// FLOPs a cycle of each region's graph if every node that computes were always busy; where its
/// nodes are known.
std::map<std::string, double> compute_roofs(const PageInput& input) {
  std::map<std::string, double> roofs;
  for (const NodeRow& row : input.nodes) {
    if (row.busy > 0 && row.flops > 0) roofs[row.region] += row.flops / row.busy;
  }
  return roofs;
}

std::string rate_text(double rate) {
  return rate > 0 ? fmt::format("{:.3g}", rate) : "";
}

/// A region, what its roofs are at its intensity, and how near it is to the lower one.
std::vector<HtmlCell> roofline_cells(const std::string& number, const HtmlCell& name,
                                     const Intensity& at, double bytes_per_cycle, double compute) {
  const double memory = bytes_per_cycle * at.flops_per_byte;
  const double roof = memory > 0 && compute > 0 ? std::min(memory, compute) : memory + compute;
  return {number,
          name,
          rate_text(at.flops_per_byte),
          rate_text(at.flops_per_cycle),
          rate_text(memory),
          rate_text(compute),
          roof > 0 ? fmt::format("{:.1f}%", 100 * at.flops_per_cycle / roof) : ""};
}

}  // namespace

HtmlSection roofline_section(const PageView& view) {
  constexpr size_t kMostRows = 12;
  const PageInput& input = view.input;
  const RunTable& run = input.runs.back();
  Roofline roofline;
  roofline.bytes_per_cycle = memory_rate(input);
  const std::map<std::string, double> compute = compute_roofs(input);
  std::vector<std::vector<HtmlCell>> rows;
  for (const RunRow* row : longest_regions(run, run.regions.size())) {
    const std::optional<Intensity> at = intensity_of(*row);
    if (!at) continue;
    const auto roof = compute.find(row->region);
    const double level = roof == compute.end() ? 0 : roof->second;
    roofline.flops_per_cycle = std::max(roofline.flops_per_cycle, level);
    const bool listed = rows.size() < kMostRows;
    const std::string number = listed ? std::to_string(rows.size() + 1) : "";
    roofline.points.push_back(plot_point(number, row->region, *at, "busy"));
    if (!listed) continue;
    rows.push_back(
        roofline_cells(number, view.cell(row->region), *at, roofline.bytes_per_cycle, level));
  }
  for (const RunTable& other : input.runs) {
    const std::optional<Intensity> at = intensity_of(other.total);
    if (&other == &run || !at) continue;
    roofline.points.push_back(plot_point(other.file, other.file, *at, "other"));
  }
  if (roofline.points.empty()) return {};
  std::string roofs =
      roofline.bytes_per_cycle > 0
          ? "The sloping line is what the memory of the machine can supply."
          : "There is no memory roof: memory takes no time on this machine, or the machine is not "
            "known (--machine).";
  if (roofline.flops_per_cycle > 0) {
    roofs += compute.size() > 1
                 ? " A graph's own roof is what it would do if all its nodes were always busy; the "
                   "level line is the highest of them."
                 : " The level line is what the graph would do if all its nodes were always busy.";
  }
  std::vector<Legend> entries = {{"busy", "a region of " + run.file}};
  if (input.runs.size() > 1) entries.push_back({"other", "another run as a whole"});
  const bool known = !rows.empty();
  return {"roofline", "Roofline",
          known && !rows[0].back().text.empty()
              ? fmt::format("the longest region reaches {} of its roof", rows[0].back().text)
              : "",
          "Work per byte of memory, and work per cycle; numbers are those of the table. " + roofs,
          legend(entries) + roofline_chart(roofline) +
              (known ? html_table({"", "region", "FLOP/byte", "FLOP/cycle", "memory roof",
                                   "compute roof", "of the lower roof"},
                                  rows, 2)
                     : "")};
}

namespace {

/// The best program by what was simulated up to each point, in the order of their numbers.
StepChart search_curve(const SearchTable& search, double pause) {
  StepChart chart{{}, {}, 0, "simulated points, by number", "cycles of the best program"};
  int64_t kernels = 0;
  for (const SearchPoint& point : search.points) kernels = std::max(kernels, point.last_kernel + 1);
  std::map<std::pair<int64_t, int64_t>, double> known;
  for (const SearchPoint& point : search.points) {
    if (point.status != PointStatus::simulated) continue;
    ++chart.end;
    const auto [place, added] =
        known.emplace(std::pair(point.first_kernel, point.last_kernel), point.cycles);
    if (!added && place->second <= point.cycles) continue;
    place->second = point.cycles;
    const double best = best_program(known, kernels, pause);
    if (best < HUGE_VAL && (chart.points.empty() || best < chart.points.back().y)) {
      chart.points.push_back(
          {chart.end, best, "", point.region + ": " + grouped_number(best) + " cycles"});
    }
  }
  // The best is simulated as a whole in the end, and compared with seeds as a whole.
  const auto found = search.totals.find("best");
  if (found != search.totals.end() && found->second > 0 && !chart.points.empty() &&
      chart.points.back().y != found->second) {
    chart.points.push_back({chart.end, found->second, "best",
                            "the best as a whole: " + grouped_number(found->second) + " cycles"});
  }
  const auto unfused = search.totals.find("unfused");
  if (unfused != search.totals.end()) chart.levels.push_back({0, unfused->second, "unfused", ""});
  return chart;
}

}  // namespace

HtmlSection search_section(const PageView& view) {
  const PageInput& input = view.input;
  if (!input.search) return {};
  const SearchTable& search = *input.search;
  std::vector<std::vector<HtmlCell>> totals;
  for (const auto& [name, cycles] : search.totals) totals.push_back({name, grouped_number(cycles)});
  std::vector<std::vector<HtmlCell>> statuses;
  for (const PointStatusInfo& info : point_statuses()) {
    const auto found = search.statuses.find(info.status);
    if (found == search.statuses.end()) continue;
    statuses.push_back(
        {std::string(info.name), std::string(info.means), std::to_string(found->second)});
  }
  const bool same = input.machine && search.machine == input.runs.back().machine;
  const double pause = same ? static_cast<double>(input.machine->reconfiguration_cycles) : 0;
  const auto best = search.totals.find("best");
  return {
      "search", "Search",
      best == search.totals.end() ? "" : "best " + grouped_number(best->second) + " cycles",
      "The best program that can be put together from the points simulated so far, in the order "
      "of their numbers; its last step is the best program as a whole.",
      html_table({"program of the search", "cycles"}, totals) +
          step_chart(search_curve(search, pause)) +
          html_table({"points", "what became of them", "number"}, statuses, 2)};
}

}  // namespace fuseflow
