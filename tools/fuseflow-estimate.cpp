// fuseflow-estimate: FLOPs, bytes, tokens and cycles of a program without simulating it.
#include "estimate/estimate.h"
#include "import/import.h"
#include "ir/data_facts.h"
#include "lower/density_notes.h"
#include "lower/lower.h"
#include "machine_options.h"
#include "program_tool.h"
#include "resources/shortage.h"
#include "support/outputs.h"
#include "whatif/advise.h"

namespace fuseflow {
namespace {

struct EstimateOptions {
  ProgramOptions filter;
  MachineOptions machine;
  bool statistics = false;
  bool verbose = false;
};

void add_options(CommandLine& app, EstimateOptions& o) {
  add_program_options(app, o.filter);
  add_machine_options(app, o.machine);
  app.add_flag("--statistics", o.statistics,
               "Use only statistics of the tensors (density, entries and longest fiber of each "
               "level), not their entries");
  app.add_flag("-v,--verbose", o.verbose,
               "Print what limits the longest regions, and what would help, to standard error")
      .excludes(app.option("--statistics"));
}

/// Warns of regions that fuseflow-sim refuses to run on the machine.
void warn_of_shortages(const Program& program, const Machine& machine) {
  for (const Region& region : program.regions) {
    const auto shortage = shortage_of(program, region, *region.graph, machine);
    if (!shortage) continue;
    report(Severity::warning,
           shortage->message + "; its cycles here are those of a machine that has enough");
  }
}

/// What limits the regions and what would help: patterns that regions write are estimated, too.
void say_verdicts(const Program& given, const Program& program, const EstimateOptions& o,
                  const MachineDescription& described, const Machine& machine,
                  const ProgramEstimate& estimate) {
  const TensorData data = expected_data(program, machine);
  const auto machine_with = [&](const std::vector<std::string>& more) {
    return o.machine.load_with(described, more);
  };
  const TrialSetup setup{given, program, machine, machine_with, {}};
  say(verdict_lines(setup, verdicts_of_estimate(setup, estimate, data)));
}

ExitCode estimate_main(const EstimateOptions& o) {
  const MachineDescription described = describe_machine(o.machine.name);
  const Machine machine = o.machine.load_with(described);
  check_outputs({{"-o", o.filter.output}});
  Program given = read_program(o.filter);
  const DataRead read = find_data_facts(given);  // held until the estimate has loaded them
  const Program before = o.verbose ? given : Program();
  const Program program = lower_program(std::move(given));
  for (const std::string& line : density_notes(program)) report(Severity::note, line);
  warn_of_streams(program, machine);
  warn_of_idle_keys(program, machine, described, o.machine.settings);
  note_shallower_buffers(program, machine);
  warn_of_shortages(program, machine);
  ProgramEstimate result;
  if (o.statistics) {
    result = estimate_from_statistics(
        program, estimate::statistics_of(program, load_patterns(program)), machine);
  } else {
    result = estimate_from_data(program, load_patterns(program), machine);
  }
  if (o.verbose) say_verdicts(before, program, o, described, machine, result);
  write_output(o.filter.output, estimate_csv(program, machine, result));
  return ExitCode::ok;
}

int tool_main(int argc, char** argv) {
  CommandLine app{
      "Estimates FLOPs, bytes, tokens and cycles of every region, with a lower bound on the "
      "cycles, as CSV.",
      "fuseflow-estimate"};
  EstimateOptions options;
  add_options(app, options);
  register_onnx_sources();
  return run_tool(argc, argv, app, [&] { return estimate_main(options); });
}

}  // namespace
}  // namespace fuseflow

int main(int argc, char** argv) {
  return fuseflow::guarded_main(argc, argv, fuseflow::tool_main);
}
