#include "report/page.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "nodes/rule.h"
#include "report/html.h"
#include "report/metric.h"
#include "report/node_groups.h"
#include "report/number_text.h"
#include "report/run_diff.h"
#include "report/sections.h"
#include "report/text_table.h"

namespace fuseflow {
namespace {

constexpr size_t kMostRows = 10;

/// The tables of nodes and streams have to be of the last run: their regions are regions of it.
void require_known_regions(const PageInput& input) {
  const RunTable& run = input.runs.back();
  std::set<std::string> known;
  for (const RunRow& row : run.regions) known.insert(row.region);
  const auto require = [&](const std::string& region, const char* what) {
    if (known.count(region) > 0) return;
    throw Error(
        ExitCode::rejected,
        fmt::format("region @{} of the table of {} is not in {}: expected the {} of that run",
                    region, what, run.file, what));
  };
  for (const NodeRow& row : input.nodes) require(row.region, "nodes");
  for (const StreamRow& row : input.streams) require(row.region, "streams");
}

[[noreturn]] void reject_other_run(const std::string& what, const std::string& region,
                                   const std::string& found, const RunTable& run,
                                   const std::string& expected) {
  throw Error(ExitCode::rejected,
              fmt::format("the table of {} says {} of region @{}, but {} says {}: expected all {} "
                          "of that run",
                          what, found, region, run.file, expected, what));
}

using Sums = std::map<std::string, double>;  ///< by region

/// Those of every region, since a file that was cut off lacks the last.
void require_tokens(const RunTable& run, const char* what, const Sums& tokens) {
  if (tokens.empty()) return;  // not given
  for (const RunRow& row : run.regions) {
    const auto known = row.numbers.find("tokens");
    const auto found = tokens.find(row.region);
    const double sum = found == tokens.end() ? 0 : found->second;
    if (known == row.numbers.end() || sum == known->second) continue;
    reject_other_run(what, row.region, grouped_number(sum) + " tokens", run,
                     grouped_number(known->second));
  }
}

/// Their numbers add up to those of its regions, too (ir-spec/csv.md, "Invariants"). An estimate
/// has no nodes of its own: those of a simulation may be shown beside it.
void require_numbers_of(const PageInput& input) {
  const RunTable& run = input.runs.back();
  std::map<std::string, const RunRow*> regions;
  for (const RunRow& row : run.regions) {
    if (row.numbers.contains("bound_cycles") || row.texts.contains("bound_cycles")) return;
    regions[row.region] = &row;
  }
  Sums of_nodes, of_streams;
  for (const NodeRow& row : input.nodes) {
    of_nodes[row.region] += row.tokens_out;
    const double cycles = row.busy + row.memory + row.starved + row.blocked;
    const double expected = regions.at(row.region)->numbers.at("cycles");
    if (cycles == expected) continue;
    reject_other_run("nodes", row.region, grouped_number(cycles) + " cycles", run,
                     grouped_number(expected));
  }
  for (const StreamRow& row : input.streams) of_streams[row.region] += row.tokens;
  require_tokens(run, "nodes", of_nodes);
  require_tokens(run, "streams", of_streams);
}

/// What a region's nodes have to be: those of its graph, each once.
void require_nodes_of(const std::string& region, const Graph& graph,
                      const std::map<int64_t, const NodeRow*>& rows) {
  const auto reject = [&](const std::string& found) {
    throw Error(ExitCode::rejected,
                fmt::format("the table of nodes has {} of region @{}, but its graph has {}: "
                            "expected all nodes of a run of that program",
                            found, region, graph.nodes.size()));
  };
  const auto count = static_cast<int64_t>(graph.nodes.size());
  if (!rows.empty() && rows.rbegin()->first >= count) {
    reject(fmt::format("a node {}", rows.rbegin()->first));
  }
  // The last nodes of a graph give nothing: their number tells whether they are there.
  if (rows.size() != graph.nodes.size()) reject(std::to_string(rows.size()));
  for (const auto& [number, row] : rows) {
    const std::string_view kind = node_kind_name(graph.nodes[static_cast<size_t>(number)].kind);
    if (row->kind == kind) continue;
    throw Error(ExitCode::rejected,
                fmt::format("node {} of region @{} is `{}` in the table of nodes and `{}` in the "
                            "graph: expected the nodes of a run of that program",
                            number, region, row->kind, kind));
  }
}

/// Nodes are found by their numbers, which have to be those of the graphs.
void require_nodes(const PageInput& input) {
  std::map<std::string, std::map<int64_t, const NodeRow*>> nodes;
  for (const NodeRow& row : input.nodes) {
    if (nodes[row.region].emplace(row.number, &row).second) continue;
    throw Error(ExitCode::rejected,
                fmt::format("the table of nodes has node {} of region @{} twice: expected each "
                            "node of a run once",
                            row.number, row.region));
  }
  if (!input.program || input.nodes.empty()) return;
  for (const Region& region : input.program->regions) {
    if (region.graph) require_nodes_of(region.name, *region.graph, nodes[region.name]);
  }
}

void require_consistent(const PageInput& input) {
  if (input.program) require_regions_of(input.runs.back(), *input.program);
  require_known_regions(input);
  require_numbers_of(input);
  require_nodes(input);
}

/// All that are shown short.
std::vector<std::string> names_shown(const PageInput& input) {
  std::vector<std::string> names;
  for (const RunTable& run : input.runs) {
    for (const RunRow& row : run.regions) names.push_back(row.region);
  }
  for (const NodeRow& row : input.nodes) names.push_back(row.statement);
  if (input.program) {
    for (const Tensor& tensor : input.program->tensors) names.push_back(tensor.name);
  }
  std::erase(names, "");
  return names;
}

std::string critical_nodes_text(const PageInput& input) {
  TextTable table({"node", "busy", "memory", "starved", "blocked"});
  for (const auto& [row, copies] : busiest_groups(input, kMostRows)) {
    const std::string of = copies > 1 ? fmt::format(" (of {} copies)", copies) : "";
    table.add({fmt::format("@{} {} {} {}{}", row->region, row->number, row->kind, row->tensor, of),
               grouped_number(row->busy), grouped_number(row->memory), grouped_number(row->starved),
               grouped_number(row->blocked)});
  }
  return "\n" + table.text();
}

}  // namespace

PageView::PageView(const PageInput& page_input)
    : input(page_input), names(names_shown(page_input)) {}

std::string report_page(const PageInput& input) {
  require_consistent(input);
  const RunTable& run = input.runs.back();
  const PageView view(input);
  return html_page(
      fmt::format("{} on {}", run.program, run.machine),
      {setting_section(view), runs_section(view), regions_section(view), layers_section(view),
       roofline_section(view), verdict_section(view), nodes_section(view), streams_section(view),
       graph_section(view), search_section(view), inputs_section(view)});
}

std::string report_text(const PageInput& input) {
  require_consistent(input);
  TextTable runs({"run", "machine", "cycles", "speed-up", "DRAM bytes", "FLOPs"});
  const RunTime baseline = time_of(input.runs[0].total);
  for (const RunTable& run : input.runs) {
    const double cycles = run.total.numbers.at("cycles");
    const auto number = [&](const char* metric) {
      const std::optional<double> value = value_of(*find_metric(metric), run.total);
      return value ? grouped_number(*value) : "";
    };
    runs.add({run.file, run.machine, grouped_number(cycles),
              speed_up_text(baseline, time_of(run.total)), number("dram_bytes"), number("flops")});
  }
  const RunTable& last = input.runs.back();
  const std::vector<const RunRow*> rows = longest_regions(last, kMostRows);
  TextTable regions({"region of " + last.file, "cycles", "of the total"});
  const double total = last.total.numbers.at("cycles");
  for (const RunRow* row : rows) {
    const double cycles = row->numbers.at("cycles");
    regions.add({row->region, grouped_number(cycles),
                 total > 0 ? fmt::format("{:.1f}%", 100 * cycles / total) : ""});
  }
  std::string out = runs.text() + "\n" + regions.text();
  if (last.regions.size() > rows.size()) {
    out += fmt::format("(+{} more regions)\n", last.regions.size() - rows.size());
  }
  if (input.nodes.empty()) return out;
  for (const std::string& line : verdict_texts(input)) out += "\n" + line;
  return out + critical_nodes_text(input);
}

}  // namespace fuseflow
