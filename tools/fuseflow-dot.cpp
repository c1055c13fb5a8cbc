// fuseflow-dot: Graphviz of a program or of its graphs.
#include "import/import.h"
#include "ir/dot.h"
#include "program_tool.h"
#include "support/outputs.h"

namespace fuseflow {
namespace {

int run(int argc, char** argv) {
  CommandLine app(
      "Draw a program, or its dataflow graphs where it is lowered, for Graphviz:\n"
      "  fuseflow-dot gcn.ff | dot -Tsvg > gcn.svg",
      "fuseflow-dot");
  ProgramOptions filter;
  DotOptions options;
  add_program_options(app, filter);
  app.add_flag("--statements", options.statements, "Draw statements even if there are graphs");
  app.add_flag("--labels", options.labels, "Name every stream");
  app.add_flag("--expand", options.expand, "Draw every parallel copy (default: one for all)");
  bool bare = false;
  app.add_flag("--no-legend", bare, "Leave the legend out");
  register_onnx_sources();  // which files hold weights
  return run_tool(argc, argv, app, [&] {
    options.legend = !bare;
    check_outputs({{"-o", filter.output}});
    write_output(filter.output, print_dot(read_program(filter), options));
    return ExitCode::ok;
  });
}

}  // namespace
}  // namespace fuseflow

int main(int argc, char** argv) {
  return fuseflow::guarded_main(argc, argv, fuseflow::run);
}
