#include "pass_tool.h"

#include "cluster/tile_plans.h"
#include "estimate/pass_costs.h"
#include "import/import.h"
#include "ir/data_facts.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "support/outputs.h"

namespace fuseflow {

void print_log(const Pass& pass, const PassLog& log) {
  for (const std::string& line : log.lines()) {
    report(Severity::note, std::string(pass.name) + ": " + line);
  }
}

void add_pass_options(CommandLine& app, const Pass& pass, PassArguments& arguments) {
  for (const PassOption& option : pass.options) {
    const std::string name(option.name);
    const std::string flags = name == "verbose" ? "-v,--verbose" : "--" + name;
    const std::string description(option.description);
    if (option.value.empty()) {
      app.on_flag(
          flags, [&arguments, name] { arguments.add(name, "true"); }, description);
      continue;
    }
    const auto take = [&arguments, name](const std::string& value) { arguments.add(name, value); };
    app.on_value(flags, take, description).option_text(std::string(option.value));
  }
}

namespace {

/// What the pass makes, also with the facts that it lacks and the given program did not.
Program run_with_facts(const Pass& pass, Program program, const PassArguments& arguments,
                       PassLog& log) {
  const DataRead read = find_data_facts(program);  // held, so that costs are not read again
  Program result = run_pass(pass, program, arguments, log);
  static_cast<void>(find_data_facts(result));
  verify(result);
  return result;
}

}  // namespace

std::string run_pass(const Pass& pass, const SourceText& source, const PassArguments& arguments,
                     PassLog& log) {
  return print_program(run_with_facts(pass, parse_program(source), arguments, log));
}

ExitCode run_filter(const Pass& pass, const ProgramOptions& filter, const PassArguments& arguments,
                    const std::function<void(const Program&)>& write) {
  PassLog log;
  check_outputs({{"-o", filter.output}});
  const Program result = run_with_facts(pass, read_program(filter), arguments, log);
  if (arguments.has("list")) {
    write_output(filter.output, log.listed());
  } else {
    write(result);
  }
  print_log(pass, log);
  return ExitCode::ok;
}

int run_pass_tool(std::string_view name, int argc, char** argv) {
  const Pass& pass = find_pass(name);
  CommandLine app(std::string(pass.description), "fuseflow-" + std::string(name));
  ProgramOptions filter;
  PassArguments arguments;
  arguments.costs = estimated_costs();
  arguments.tiles = cluster::tile_planner();
  add_program_options(app, filter);
  add_pass_options(app, pass, arguments);
  register_onnx_sources();
  return run_tool(argc, argv, app, [&] {
    pass.check(arguments);
    return run_filter(pass, filter, arguments,
                      [&](const Program& result) { write_program(filter.output, result); });
  });
}

}  // namespace fuseflow
