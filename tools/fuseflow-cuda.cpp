// fuseflow-cuda: planned kernels of tiles as CUDA C++ for Hopper, and as C++ that runs on the CPU.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cuda/data.h"
#include "cuda/files.h"
#include "cuda/generate.h"
#include "cuda/table.h"
#include "import/import.h"
#include "ir/names.h"
#include "lower/lower.h"
#include "machine_options.h"
#include "program_tool.h"
#include "shell/thread_options.h"
#include "support/folder.h"

namespace fuseflow {
namespace {

struct CudaOptions {
  std::vector<std::string> inputs;
  std::string directory;  ///< of the files
  std::string data_from;  ///< -C
  bool data = false;
  int threads = 1;
  MachineOptions machine{"h100", {}};
};

void add_options(CommandLine& app, CudaOptions& o) {
  app.add_option(
         "input", o.inputs,
         "Planned program (fuseflow-cluster); standard input when absent or -. Several: the "
         "same one for different numbers of rows, as a table whose rows are known at run "
         "time (fuseflow-cluster --table-programs)")
      .option_text("[FILE..]");
  app.add_option("-d,--output-directory", o.directory,
                 "Folder for the files, made where it is not there")
      .option_text("DIR")
      .required();
  app.add_option("-C,--directory", o.data_from,
                 "Folder from which relative data paths of the input start")
      .option_text("DIR");
  app.add_flag(
      "--data", o.data,
      "Also simulate, and write inputs and results to DIR/data, which run_host compares with");
  add_machine_options(app, o.machine);
  add_threads_option(app, o.threads);
}

/// Says what is refused, and what differs from the plan.
void report_kernels(const Program& program, const std::vector<cuda::Generated>& kernels) {
  for (const cuda::Generated& g : kernels) {
    const std::string& region = program.regions[g.region].name;
    if (!g.refused.empty()) {
      report(Severity::warning,
             fmt::format("@{}: no kernel: {}", quote_if_needed(region), g.refused));
    }
    for (const std::string& repair : g.kernel.repairs) {
      if (g.refused.empty())
        report(Severity::note, fmt::format("@{}: {}", quote_if_needed(region), repair));
    }
  }
}

void write_files(const CudaOptions& o, const std::vector<cuda::TextFile>& files) {
  for (const cuda::TextFile& file : files) {
    const std::filesystem::path path = std::filesystem::path(o.directory) / file.path;
    make_folder(path.parent_path().string());
    write_output(path.string(), file.text);
  }
}

Program read_planned(const CudaOptions& o, const std::string& input) {
  Program program = read_program(input, o.data_from);
  cuda::mark_gathered(program);
  return program;
}

ExitCode one_program(const CudaOptions& o, const Machine& machine) {
  const Program program = read_planned(o, o.inputs.empty() ? "-" : o.inputs[0]);
  const std::vector<cuda::Generated> kernels = cuda::generate(program, machine);
  if (kernels.empty()) {
    throw Error(ExitCode::rejected,
                "the program has no region of tiles; fuseflow-cluster plans them "
                "(--strategy=tiles: all that have a form)");
  }
  const auto refused = [](const cuda::Generated& g) { return !g.refused.empty(); };
  const bool none = std::all_of(kernels.begin(), kernels.end(), refused);
  std::vector<cuda::TextFile> files;
  if (!none) files = cuda::files_of(program, kernels);
  files.push_back({"plan.csv", cuda::plan_csv(program, kernels, machine)});
  if (o.data && !none) {
    // Regions that nobody planned are still statements.
    const Program lowered = lower_program(program);
    for (cuda::TextFile& file : cuda::data_files(lowered, kernels, machine, o.threads))
      files.push_back(std::move(file));
  }
  write_files(o, files);
  report_kernels(program, kernels);
  if (none) throw Error(ExitCode::rejected, "no kernel was generated; plan.csv has the reasons");
  return std::none_of(kernels.begin(), kernels.end(), refused) ? ExitCode::ok
                                                               : ExitCode::unfinished;
}

ExitCode table_of_programs(const CudaOptions& o, const Machine& machine) {
  std::vector<Program> programs;
  for (const std::string& input : o.inputs) programs.push_back(read_planned(o, input));
  const std::vector<cuda::TableEntry> table = cuda::make_table(std::move(programs), machine);
  std::vector<cuda::TextFile> files = cuda::files_of(table);
  files.push_back({"plan.csv", cuda::plan_csv(table, machine)});
  if (o.data) {
    for (cuda::TextFile& file : cuda::data_files(table, machine, o.threads))
      files.push_back(std::move(file));
  }
  write_files(o, files);
  for (const cuda::TableEntry& entry : table) report_kernels(entry.program, entry.kernels);
  return ExitCode::ok;
}

ExitCode cuda_main(const CudaOptions& o) {
  const Machine machine = o.machine.load();
  return o.inputs.size() > 1 ? table_of_programs(o, machine) : one_program(o, machine);
}

int tool_main(int argc, char** argv) {
  CommandLine app(
      "Writes the kernels of tiles of a planned program as CUDA C++ for GPUs of compute capability "
      "9.0, with a program that "
      "checks and times them, and the same kernels as C++ that runs on the CPU and finds races.",
      "fuseflow-cuda");
  CudaOptions options;
  add_options(app, options);
  register_onnx_sources();
  return run_tool(argc, argv, app, [&] { return cuda_main(options); });
}

}  // namespace
}  // namespace fuseflow

int main(int argc, char** argv) {
  return fuseflow::guarded_main(argc, argv, fuseflow::tool_main);
}
