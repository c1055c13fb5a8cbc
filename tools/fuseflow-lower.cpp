// fuseflow-lower: regions of statements to dataflow graphs.
#include "lower/lower.h"

#include "import/import.h"
#include "ir/data_facts.h"
#include "ir/verify.h"
#include "program_tool.h"
#include "support/outputs.h"

namespace fuseflow {
namespace {

int run(int argc, char** argv) {
  CommandLine app("Lower every region that has no graph yet to a dataflow graph", "fuseflow-lower");
  ProgramOptions filter;
  bool again = false;
  add_program_options(app, filter);
  app.add_flag("--again", again, "Replace the graphs that are there");
  register_onnx_sources();
  return run_tool(argc, argv, app, [&] {
    check_outputs({{"-o", filter.output}});
    Program program = read_program(filter);
    for (Region& region : program.regions) {
      if (again && !region.statements.empty()) region.graph.reset();
    }
    find_data_facts(program);
    program = lower_program(std::move(program));
    verify(program);  // refuses extents that are not bound
    write_program(filter.output, std::move(program));
    return ExitCode::ok;
  });
}

}  // namespace
}  // namespace fuseflow

int main(int argc, char** argv) {
  return fuseflow::guarded_main(argc, argv, fuseflow::run);
}
