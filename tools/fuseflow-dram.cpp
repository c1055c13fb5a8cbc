// fuseflow-dram: a trace of memory accesses through a machine's memory model.
#include "machine_options.h"
#include "shell/tool.h"
#include "sim/memory/trace.h"
#include "support/outputs.h"

namespace fuseflow {
namespace {

struct DramOptions {
  std::string trace = "-";
  std::string output = "-";
  MachineOptions machine;
};

void add_options(CommandLine& app, DramOptions& o) {
  app.add_option("trace", o.trace,
                 "Lines `CYCLE R|W ADDRESS`, as fuseflow-sim --dram-trace writes them; standard "
                 "input when absent or -")
      .option_text("[FILE]");
  app.add_option("-o,--output", o.output, "Write to FILE instead of standard output")
      .option_text("FILE");
  add_machine_options(app, o.machine, "",
                      "ideal, which has no memory model and is refused; rda has one");
}

ExitCode dram_main(const DramOptions& o) {
  const Machine machine = o.machine.load();
  require_memory_model(machine);
  check_outputs({{"-o", o.output}});
  const std::vector<TracedAccess> trace =
      in_bursts_of(parse_memory_trace(read_source(o.trace)), machine);
  write_output(o.output, trace_csv(run_memory_trace(trace, machine), machine));
  return ExitCode::ok;
}

int tool_main(int argc, char** argv) {
  CommandLine app(
      "Runs a trace of memory accesses through the machine's memory model and prints cycles, row "
      "hits and latency as CSV. Open loop: no access waits for the answer of another one.",
      "fuseflow-dram");
  DramOptions options;
  add_options(app, options);
  return run_tool(argc, argv, app, [&] { return dram_main(options); });
}

}  // namespace
}  // namespace fuseflow

int main(int argc, char** argv) {
  return fuseflow::guarded_main(argc, argv, fuseflow::tool_main);
}
