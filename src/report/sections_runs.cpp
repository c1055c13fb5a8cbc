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

constexpr size_t kMostRegions = 40;

std::string change_text(std::optional<double> before, std::optional<double> now) {
  if (!before || !now || *before <= 0 || *now <= 0) return "";
  return fmt::format("{:.2f}x", *before / *now);
}

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

std::vector<std::string> run_cells(const RunTable& run, const RunTable& baseline) {
  std::vector<std::string> cells = {run.file, text_of(run, "strategy")};
  for (const std::string_view name : {"cycles", "dram_bytes", "flops"}) {
    const Metric& metric = *find_metric(name);
    const std::optional<double> value = value_of(metric, run.total);
    const std::optional<double> before = value_of(metric, baseline.total);
    cells.push_back(value ? grouped_number(*value) : "");
    if (name == "cycles") {
      cells.push_back(time_text(run));
      cells.push_back(change_text(before, value));
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

double cycles_of(const RunRow& row) {
  return row.numbers.at("cycles");
}

/// Cycles of the best partition of the kernels into runs, by what is known of each run; infinite
/// while there is none. `known[first][last]`: cycles of the best point.
double best_program(const std::map<std::pair<int64_t, int64_t>, double>& known, int64_t kernels) {
  std::vector<double> best(static_cast<size_t>(kernels) + 1, HUGE_VAL);
  best[0] = 0;
  for (const auto& [run, cycles] : known) {  // ascending by first kernel: best[first] is final
    const auto first = static_cast<size_t>(run.first);
    const auto next = static_cast<size_t>(run.second) + 1;
    best[next] = std::min(best[next], best[first] + cycles);
  }
  return best.back();
}

}  // namespace

std::string runs_section(const PageInput& input) {
  std::vector<std::vector<std::string>> rows;
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
  return html_section("Runs",
                      "Speed-ups and changes are against the first run, the baseline. Time is what "
                      "the machine would take by its clock. Checked: ok, if every element was "
                      "compared and is right; undecided, if rounding may explain some.",
                      body);
}

namespace {

using KeyValues = std::vector<std::vector<std::string>>;  ///< name and value

void add_machine(const Machine& machine, KeyValues& facts) {
  std::string text = fmt::format("{:g} GHz", machine.clock_gigahertz);
  const double bandwidth = machine.dram_bytes_per_cycle();
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

std::string setting_section(const PageInput& input) {
  const RunTable& run = input.runs.back();
  KeyValues facts = {{"program", run.program}};
  if (input.program) add_program(*input.program, facts);
  std::string machine = run.machine;
  if (input.machine && !input.machine->description.empty()) {
    machine += ": " + input.machine->description;
  }
  facts.push_back({"machine", machine});
  if (input.machine) add_machine(*input.machine, facts);
  facts.push_back({"tools", fmt::format("fuseflow {}, language {}", input.version, kTextVersion)});
  return html_section("What ran", "The last of the runs, " + run.file + ".",
                      html_table({"", ""}, facts, 2));
}

std::string inputs_section(const PageInput& input) {
  if (!input.program) return "";
  std::vector<std::vector<std::string>> rows;
  for (const Tensor& tensor : input.program->tensors) {
    if (!tensor.given()) continue;
    std::string shape;
    for (const Extent& extent : tensor.shape) {
      shape += (shape.empty() ? "" : " x ") +
               (extent.known() ? std::to_string(extent.value) : extent.symbol);
    }
    rows.push_back({tensor.name, std::string(role_name(tensor.role)), shape,
                    to_string(tensor.format), to_string(tensor.source)});
  }
  if (rows.empty()) return "";
  return html_section("Data", "Inputs and constants of the program, with the source of their data.",
                      html_table({"tensor", "role", "shape", "format", "source"}, rows, 5));
}

std::string regions_section(const PageInput& input) {
  const RunTable& run = input.runs.back();
  const std::vector<const RunRow*> rows = longest_regions(run, kMostRegions);
  std::vector<Bar> bars;
  bars.reserve(rows.size());
  for (const RunRow* row : rows) {
    bars.push_back(cycle_bar(row->region, cycles_of(*row), cycles_of(run.total)));
  }
  if (bars.empty()) return "";
  const size_t left_out = run.regions.size() - rows.size();
  const std::string more = left_out > 0 ? fmt::format("<p>(+{} more regions)</p>\n", left_out) : "";
  return html_section("Regions", "Cycles of each region of " + run.file + ", the longest first.",
                      bar_chart(bars, std::max(1.0, cycles_of(*rows[0]))) + more);
}

namespace {

void add_point(const RunRow& row, const std::string& name, bool labelled, const char* colour,
               std::vector<PlotPoint>& points) {
  const double flops = value_of(*find_metric("flops"), row).value_or(0);
  const double bytes = value_of(*find_metric("dram_bytes"), row).value_or(0);
  if (flops <= 0 || bytes <= 0 || cycles_of(row) <= 0) return;
  const double rate = flops / cycles_of(row);
  points.push_back(
      {flops / bytes, rate, labelled ? name : "",
       fmt::format("{}: {:.3g} FLOP/cycle, {:.3g} FLOP/byte", name, rate, flops / bytes), colour});
}

/// FLOPs a cycle of the last run's graph if every node that computes were always busy; only where
/// it has one region, whose nodes are known.
double compute_roof(const PageInput& input) {
  double roof = 0;
  if (input.runs.back().regions.size() != 1) return roof;
  for (const NodeRow& row : input.nodes) {
    if (row.busy > 0) roof += row.flops / row.busy;
  }
  return roof;
}

}  // namespace

std::string roofline_section(const PageInput& input) {
  constexpr size_t kMostLabelled = 12;
  const RunTable& run = input.runs.back();
  Roofline roofline;
  if (input.machine) roofline.bytes_per_cycle = input.machine->dram_bytes_per_cycle();
  roofline.flops_per_cycle = compute_roof(input);
  for (const RunTable& other : input.runs) {
    if (&other != &run) add_point(other.total, other.file, true, "other", roofline.points);
  }
  for (const RunRow& row : run.regions) {
    add_point(row, row.region, run.regions.size() <= kMostLabelled, "busy", roofline.points);
  }
  std::string roofs =
      roofline.bytes_per_cycle > 0
          ? "The sloping line is what the memory of the machine can supply."
          : "There is no memory roof: memory takes no time on this machine, or the machine is not "
            "known (--machine).";
  if (roofline.flops_per_cycle > 0) {
    roofs += " The level line is what the graph would do if all its nodes were always busy.";
  }
  return html_section(
      "Roofline",
      "Each blue point is a region of the last run: work per byte of memory, and work per cycle; "
      "each grey one another run as a whole. " +
          roofs,
      roofline_chart(roofline));
}

namespace {

/// The best program by what was simulated up to each point, in the order of their numbers.
StepChart search_curve(const SearchTable& search) {
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
    const double best = best_program(known, kernels);
    if (best < HUGE_VAL && (chart.points.empty() || best < chart.points.back().y)) {
      chart.points.push_back(
          {chart.end, best, "", point.region + ": " + grouped_number(best) + " cycles"});
    }
  }
  const auto unfused = search.totals.find("unfused");
  if (unfused != search.totals.end()) chart.levels.push_back({0, unfused->second, "unfused", ""});
  return chart;
}

}  // namespace

std::string search_section(const PageInput& input) {
  if (!input.search) return "";
  const SearchTable& search = *input.search;
  std::vector<std::vector<std::string>> totals;
  for (const auto& [name, cycles] : search.totals) totals.push_back({name, grouped_number(cycles)});
  std::vector<std::vector<std::string>> statuses;
  for (const PointStatusInfo& info : point_statuses()) {
    const auto found = search.statuses.find(info.status);
    if (found == search.statuses.end()) continue;
    statuses.push_back(
        {std::string(info.name), std::string(info.means), std::to_string(found->second)});
  }
  return html_section(
      "Search",
      "The best program that can be put together from the points simulated so far, in the order of "
      "their numbers (without reconfiguration between regions).",
      html_table({"program of the search", "cycles"}, totals) + step_chart(search_curve(search)) +
          html_table({"points", "what became of them", "number"}, statuses, 2));
}

}  // namespace fuseflow
