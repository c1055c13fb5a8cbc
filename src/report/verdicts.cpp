#include "report/verdicts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/names.h"
#include "report/html.h"
#include "report/metric.h"
#include "report/run_table.h"
#include "report/sections.h"
#include "verdict/words.h"

namespace fuseflow {
namespace {

constexpr size_t kMostVerdicts = 5;
constexpr double kMatters = 0.05;  ///< share of the run's cycles

constexpr const char* kNoMachine =
    "What limits the regions depends on the machine, which is not known: give --machine.";

/// Whether all but the machine is there that verdicts are made from.
bool lacks_machine(const PageInput& input) {
  return input.program && !input.nodes.empty() && !input.machine;
}

struct VerdictText {
  std::string region, limit, roof, tries;
};

std::vector<VerdictText> verdicts(const PageInput& input) {
  std::vector<VerdictText> texts;
  if (!input.program || input.nodes.empty() || !input.machine) return texts;
  const RunTable& run = input.runs.back();
  const double all = run.total.numbers.at("cycles");
  const Machine& machine = *input.machine;
  for (const RunRow* row : longest_regions(run, kMostVerdicts)) {
    const double cycles = row->numbers.at("cycles");
    if (cycles < kMatters * all) continue;
    if (!value_of(*find_metric("dram_bytes"), *row)) continue;  // memory may be what limits it
    for (size_t r = 0; r < input.program->regions.size(); ++r) {
      const Region& region = input.program->regions[r];
      if (region.name != row->region || !region.graph) continue;
      const Graph& graph = *region.graph;
      const RegionFigures figures = region_figures(input, region.name, graph);
      const auto limit = find_limit(graph, machine, figures);
      if (!limit) continue;
      const Advice advice = input.advise ? input.advise(r, figures, *limit) : Advice{*limit, ""};
      texts.push_back({fmt::format("@{} ({:.1f}% of the cycles)", quote_if_needed(region.name),
                                   100 * cycles / std::max(1.0, all)),
                       limit_words(*input.program, graph, machine, advice.limit),
                       "at best: " + roof_words(*input.program, graph, advice.limit, cycles),
                       advice.tries});
    }
  }
  return texts;
}

}  // namespace

RegionFigures region_figures(const PageInput& input, const std::string& region,
                             const Graph& graph) {
  RegionFigures figures;
  for (const RunRow& row : input.runs.back().regions) {
    if (row.region != region) continue;
    figures.cycles = row.numbers.at("cycles");
    figures.dram_bytes = value_of(*find_metric("dram_bytes"), row).value_or(0);
    const auto bursts = row.numbers.find("dram_bursts");
    if (bursts != row.numbers.end()) figures.dram_bursts = bursts->second;
  }
  figures.nodes.resize(graph.nodes.size());
  for (const NodeRow& row : input.nodes) {
    const auto n = static_cast<size_t>(row.number);
    if (row.region != region || n >= figures.nodes.size()) continue;
    figures.nodes[n] = {true,        row.busy,       row.memory,    row.starved,
                        row.blocked, row.first_step, row.last_step, row.bytes};
  }
  std::map<std::string, double> blocked;
  for (const StreamRow& row : input.streams) {
    if (row.region == region) blocked[row.stream] = row.blocked;
  }
  for (const Stream& stream : graph.streams) {
    const auto known = blocked.find(stream.name);
    figures.stream_blocked.push_back(known == blocked.end() ? 0 : known->second);
  }
  return figures;
}

HtmlSection verdict_section(const PageView& view) {
  std::string body;
  if (lacks_machine(view.input)) body = fmt::format("<p>{}</p>\n", html_text(kNoMachine));
  for (const VerdictText& text : verdicts(view.input)) {
    body += fmt::format("<p><b>{}</b> is {}; {}.", html_text(text.region), html_text(text.limit),
                        html_text(text.roof));
    if (!text.tries.empty()) body += "<br>Try: " + html_prose(text.tries) + ".";
    body += "</p>\n";
  }
  return {
      "limits",
      "What limits it",
      "",
      "What the longest regions wait for, and what they would take if their busiest nodes, or "
      "memory, did. What helps is estimated on the region alone; `fuseflow-sim -v` simulates it.",
      body,
      true};
}

std::vector<std::string> verdict_texts(const PageInput& input) {
  if (lacks_machine(input)) return {std::string(kNoMachine) + "\n"};
  std::vector<std::string> texts;
  for (const VerdictText& text : verdicts(input)) {
    texts.push_back(text.region + " is " + text.limit + "\n  " + text.roof + "\n");
    if (!text.tries.empty()) texts.back() += "  try: " + text.tries + "\n";
  }
  return texts;
}

}  // namespace fuseflow
