// What the tools of passes share: flags and help from the pass table, the filter around the pass.
#pragma once

#include <string>

#include "estimate/pass_costs.h"
#include "import/import.h"
#include "ir/data_facts.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "passes/pass.h"
#include "program_tool.h"
#include "support/outputs.h"

namespace fuseflow {

inline void add_pass_options(CLI::App& app, const Pass& pass, PassArguments& arguments) {
  for (const PassOption& option : pass.options) {
    const std::string name(option.name);
    const std::string flags = name == "verbose" ? "-v,--verbose" : "--" + name;
    if (option.value.empty()) {
      app.add_flag_function(
          flags, [&arguments, name](int64_t) { arguments.add(name, "true"); },
          std::string(option.description));
      continue;
    }
    const auto take = [&arguments, name](const std::string& value) { arguments.add(name, value); };
    app.add_option_function<std::string>(flags, take, std::string(option.description))
        ->trigger_on_parse()
        ->option_text(std::string(option.value));
  }
}

inline void print_log(const Pass& pass, const PassLog& log) {
  for (const std::string& line : log.lines()) {
    report(Severity::note, std::string(pass.name) + ": " + line);
  }
}

/// What a pass makes of a program's text, verified, as a text; data paths stay as they are.
inline std::string run_pass(const Pass& pass, const SourceText& source,
                            const PassArguments& arguments, PassLog& log) {
  Program program = parse_program(source);
  const DataRead read = find_data_facts(program);  // held, so that costs are not read again
  const Program result = run_pass(pass, program, arguments, log);
  verify(result);
  return print_program(result);
}

/// Reads the program, runs the pass and gives what it makes, verified, to `write`; or writes the
/// list that was asked for. Options have been checked.
template <typename Write>
ExitCode run_filter(const Pass& pass, const FilterOptions& filter, const PassArguments& arguments,
                    const Write& write) {
  PassLog log;
  check_outputs({{"-o", filter.output}});
  Program program = read_program(filter);
  const DataRead read = find_data_facts(program);  // held, so that costs are not read again
  const Program result = run_pass(pass, program, arguments, log);
  verify(result);
  if (arguments.has("list")) {
    write_output(filter.output, log.listed());
  } else {
    write(result);
  }
  print_log(pass, log);
  return ExitCode::ok;
}

/// The whole of a tool that is nothing but a pass; one that chooses does so by the estimate.
inline int run_pass_tool(std::string_view name, int argc, char** argv) {
  const Pass& pass = find_pass(name);
  CLI::App app(std::string(pass.description), "fuseflow-" + std::string(name));
  FilterOptions filter;
  PassArguments arguments;
  arguments.costs = estimated_costs();
  add_filter_options(app, filter);
  add_pass_options(app, pass, arguments);
  register_onnx_sources();
  return run_tool(argc, argv, app, [&] {
    pass.check(arguments);
    return run_filter(pass, filter, arguments,
                      [&](const Program& result) { write_program(filter.output, result); });
  });
}

}  // namespace fuseflow
