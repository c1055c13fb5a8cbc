// fuseflow-rewrite: algebra on statements, or a list of what could be rewritten.
#include "passes/rewrite.h"

#include "estimate/pass_costs.h"
#include "import/import.h"
#include "ir/data_facts.h"
#include "pass_tool.h"
#include "support/outputs.h"

namespace fuseflow {
namespace {

int run(int argc, char** argv) {
  const Pass& pass = find_pass("rewrite");
  CommandLine app(std::string(pass.description), "fuseflow-rewrite");
  ProgramOptions filter;
  PassArguments arguments;
  bool list = false;
  add_program_options(app, filter);
  add_pass_options(app, pass, arguments);
  app.add_flag("--list", list,
               "Print every rewrite that is possible or refused as CSV instead of the program")
      .without_value();
  register_onnx_sources();
  return run_tool(argc, argv, app, [&] {
    pass.check(arguments);
    if (list && arguments.has("apply")) {
      throw Error(ExitCode::usage, "--list and --apply exclude each other, expected one of them");
    }
    arguments.costs = estimated_costs();
    if (list) {
      check_outputs({{"-o", filter.output}});
      Program program = read_program(filter);
      const DataRead read = find_data_facts(program);  // held, so that costs are not read again
      write_output(filter.output, list_rewrites(program, arguments));
      return ExitCode::ok;
    }
    return run_filter(pass, filter, arguments,
                      [&](const Program& result) { write_program(filter.output, result); });
  });
}

}  // namespace
}  // namespace fuseflow

int main(int argc, char** argv) {
  return fuseflow::guarded_main(argc, argv, fuseflow::run);
}
