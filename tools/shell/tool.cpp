#include "shell/tool.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "support/heap.h"
#include "support/inputs.h"
#include "support/standard_streams.h"
#include "support/stop.h"
#include "support/text.h"

namespace fuseflow {

namespace {

/// The outcome of `body` as an exit status, with a message where it is not ok.
int exit_status_of(const std::string& tool, const std::function<ExitCode()>& body) {
  try {
    const ExitCode code = body();
    finish_standard_output();
    return static_cast<int>(code);
  } catch (const Error& error) {
    print(error.diagnostics());
    return static_cast<int>(error.code());
  } catch (const Stopped& stopped) {
    print(stopped.diagnostics());
    return static_cast<int>(ExitCode::unfinished);
  } catch (const std::bad_alloc&) {
    report(Severity::error, "out of memory");
    return static_cast<int>(ExitCode::unfinished);
  } catch (const std::exception& bug) {
    std::fprintf(stderr, "internal error: %s\nThis is a defect of %s; please report the input.\n",
                 printable(bug.what()).c_str(), tool.c_str());
    return static_cast<int>(ExitCode::internal);
  }
}

}  // namespace

std::string tool_version() {
  return FUSEFLOW_VERSION;
}

void add_filter_options(CommandLine& app, FilterOptions& options) {
  app.add_option("input", options.input, "Program (.ff); standard input when absent or -")
      .option_text("[FILE]");
  app.add_option("-o,--output", options.output, "Write to FILE instead of standard output")
      .option_text("FILE");
  app.add_option("-C,--directory", options.directory,
                 "Folder from which relative data paths of the input start (default: that of FILE; "
                 "for standard input the current one)")
      .option_text("DIR");
}

void attempt(std::optional<Error>& error, const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& wrong) {
    if (!error) error = wrong;
  }
}

std::optional<int> read_arguments(int argc, char** argv, CommandLine& app) {
  const ParsedLine line = app.parse(argc, argv);
  if (!line.wrong.empty()) {
    print({{Severity::error, Location{app.tool()}, line.wrong, ""}});
    std::fputs("Run with --help for usage.\n", stderr);
    return static_cast<int>(ExitCode::usage);
  }
  if (line.run) return std::nullopt;
  return exit_status_of(app.tool(), [&] {
    write_output("-", line.text);
    return ExitCode::ok;
  });
}

int run_tool(int argc, char** argv, CommandLine& app, const std::function<ExitCode()>& body) {
  // A pipe that is closed and a file that may not grow are errors of write().
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  bool quiet = false, force = false;
  app.add_flag("--force", force, "Let outputs replace files that the tool reads");
  app.add_flag("-q,--quiet", quiet, "Print errors only: no notes, warnings, summaries or progress");
  app.set_version("fuseflow " + tool_version());
  if (const std::optional<int> ended = read_arguments(argc, argv, app)) return *ended;
  if (quiet) be_quiet();
  if (!force) keep_inputs();
  prepare_heap();
  return exit_status_of(app.tool(), body);
}

}  // namespace fuseflow
