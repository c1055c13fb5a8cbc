// fuseflow-report: one page, and a table on the terminal, of what was run.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "bind_options.h"
#include "import/import.h"
#include "ir/data_facts.h"
#include "ir/files.h"
#include "lower/lower.h"
#include "machine_options.h"
#include "report/dot_layout.h"
#include "report/page.h"
#include "shell/tool.h"
#include "support/outputs.h"
#include "support/text.h"
#include "whatif/advise.h"

namespace fuseflow {
namespace {

struct ReportOptions {
  std::vector<std::string> runs;
  std::string program, nodes, streams, search, html;
  MachineOptions machine;
  BindOptions bound;
  const Option* machine_given = nullptr;
};

void add_options(CommandLine& app, ReportOptions& o) {
  app.add_option(
         "runs", o.runs,
         "Reports of fuseflow-sim or fuseflow-estimate; the first is the baseline, the last "
         "is shown in detail")
      .option_text("A.csv [B.csv ...]")
      .required();
  const auto file = [&](const char* name, std::string& to, const char* text) {
    app.add_option(name, to, text).option_text("FILE");
  };
  file("--program", o.program, "The program of the last run: layers, statements, graphs");
  file("--nodes", o.nodes, "Nodes of the last run (fuseflow-sim --nodes)");
  file("--streams", o.streams, "Streams of the last run (fuseflow-sim --streams)");
  file("--search", o.search, "What a search tried (CSV of fuseflow-explore)");
  file("--html", o.html, "Write the page to FILE");
  add_machine_options(app, o.machine, "For roofs and depths:",
                      "the preset that the last run names, if it names one");
  o.machine_given = &app.option("--machine");
  add_bind_options(app, o.bound);
}

/// The machine of the last run by its name, where that is a preset or was given.
std::optional<Machine> machine_of(const ReportOptions& o, const std::string& name) {
  if (o.machine_given->given()) return o.machine.load();
  return machine_named(name, o.machine.settings);
}

/// Tries changes on regions of the last run's program, by the estimate.
class Trials {
 public:
  Trials(Program given, Program lowered, Machine machine)
      : given_(std::move(given)), lowered_(std::move(lowered)), machine_(std::move(machine)) {}

  Advice advise(size_t region, const RegionFigures& figures, const Limit& limit) const {
    const MachineWith machine_with = [this](const std::vector<std::string>& more) {
      return set_up_machine({machine_, {}}, more);
    };
    const TrialSetup setup{given_, lowered_, machine_, machine_with, {}};
    if (!data_) data_ = expected_data(lowered_, machine_);
    const RegionVerdict verdict = verdict_of_figures(setup, region, *data_, figures, limit);
    return {verdict.limit, tries_words(verdict)};
  }

 private:
  const Program given_, lowered_;
  const Machine machine_;
  mutable std::optional<TensorData> data_;  ///< read when the first region asks
};

PageInput read_input(const ReportOptions& o) {
  PageInput input;
  for (const std::string& file : o.runs) input.runs.push_back(parse_run_table(read_source(file)));
  std::optional<Program> given;
  const Bindings bindings = bindings_of(o.bound);
  if (!o.program.empty()) {
    given = read_program(o.program, "", bindings);
    const DataRead read = find_data_facts(*given);  // as the simulator does
    input.program = lower_program(*given);
  }
  if (!o.nodes.empty()) input.nodes = parse_node_table(read_source(o.nodes));
  if (!o.streams.empty()) input.streams = parse_stream_table(read_source(o.streams));
  if (!o.search.empty()) input.search = parse_search_table(read_source(o.search));
  input.machine = machine_of(o, input.runs.back().machine);
  if (input.program && input.machine) {
    fit_buffers(*input.program, *input.machine);
    const auto trials = std::make_shared<const Trials>(*given, *input.program, *input.machine);
    input.advise = [trials](size_t region, const RegionFigures& figures, const Limit& limit) {
      return trials->advise(region, figures, limit);
    };
  }
  input.version = tool_version();
  return input;
}

/// Data and extents are those of a program.
void require_program(const ReportOptions& o) {
  if (!o.program.empty() || (o.bound.binds.empty() && o.bound.dims.empty())) return;
  throw Error(ExitCode::usage, "--bind and --dim are for the program: give --program too");
}

ExitCode report_main(const ReportOptions& o) {
  require_program(o);
  check_outputs({{"--html", o.html}});
  PageInput input = read_input(o);
  bool laid_out = true;
  input.layout = [&](const std::string& text) {
    std::string svg = svg_by_graphviz(text);
    laid_out = laid_out && !svg.empty();
    return svg;
  };
  if (!o.html.empty()) write_output(o.html, report_page(input));
  if (!laid_out) {
    report(Severity::warning, "graphs are not drawn: `dot` failed, or Graphviz is not installed");
  }
  if (o.html != "-") write_output("-", printable(report_text(input), "\n"));
  return ExitCode::ok;
}

int tool_main(int argc, char** argv) {
  CommandLine app(
      "Makes an HTML page of runs, and prints a short table:\n"
      "  fuseflow-report none.csv full.csv --program full.ff --nodes nodes.csv --html report.html",
      "fuseflow-report");
  ReportOptions options;
  add_options(app, options);
  register_onnx_sources();
  return run_tool(argc, argv, app, [&] { return report_main(options); });
}

}  // namespace
}  // namespace fuseflow

int main(int argc, char** argv) {
  return fuseflow::guarded_main(argc, argv, fuseflow::tool_main);
}
