// The shell around every tool: common options, and the one place that maps an outcome to an exit
// status. Header-only and included by tools/*.cpp alone, because CLI11 is slow to compile.
#pragma once

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <new>
#include <sstream>
#include <string>

#include "support/diagnostics.h"
#include "support/guarded_main.h"
#include "support/heap.h"
#include "support/inputs.h"
#include "support/io.h"
#include "support/standard_streams.h"
#include "support/terminal.h"
#include "support/text.h"

namespace fuseflow {

/// What every filter has: an input (file, `-` or nothing) and an output (`-o FILE`).
struct FilterOptions {
  std::string input = "-";
  std::string output = "-";
  std::string directory;  ///< `-C DIR`; empty: not given
};

inline void add_filter_options(CLI::App& app, FilterOptions& options) {
  app.add_option("input", options.input, "IR file; standard input when absent or -")
      ->option_text("[FILE]");
  app.add_option("-o,--output", options.output, "Write to FILE instead of standard output")
      ->option_text("FILE");
  app.add_option("-C,--directory", options.directory,
                 "Folder from which relative data paths of the input start (default: that of FILE; "
                 "for standard input the current one)")
      ->option_text("DIR");
}

/// What every tool has, whatever it does.
inline void add_common_options(CLI::App& app, bool& quiet, bool& force) {
  app.add_flag("--force", force, "Let outputs replace files that the tool reads");
  app.add_flag("-q,--quiet", quiet, "Print errors only: no notes, warnings, summaries or progress");
  app.set_version_flag("-V,--version", std::string("fuseflow ") + FUSEFLOW_VERSION);
  app.get_formatter()->column_width(34);
}

/// Of an option that is given again the last value counts, so that a script's options can be
/// changed by adding to them. Lists (--bind, --machine-set) add up.
inline void let_last_win(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const bool list = option->get_items_expected_max() >= CLI::detail::expected_max_vector_size;
    const bool decided = option->get_multi_option_policy() != CLI::MultiOptionPolicy::Throw;
    if (!list && !decided && !option->get_positional()) option->take_last();
  }
}

/// The outcome of `body` as an exit status, with a message where it is not ok.
inline int exit_status_of(const std::string& tool, const std::function<ExitCode()>& body) {
  try {
    const ExitCode code = body();
    finish_standard_output();
    return static_cast<int>(code);
  } catch (const Error& error) {
    print(error.diagnostics());
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    report(Severity::error, "out of memory");
    return static_cast<int>(ExitCode::unfinished);
  } catch (const std::exception& bug) {
    std::fprintf(stderr, "internal error: %s\nThis is a defect of %s; please report the input.\n",
                 printable(bug.what()).c_str(), tool.c_str());
    return static_cast<int>(ExitCode::internal);
  }
}

/// Parses the command line, runs `body` and returns the exit status. `body` may return another
/// status than ok when it has already said why (the simulator's failed checks). Whatever is wrong
/// with the options is to be found out (Error(usage)) before `body` reads any input.
inline int run_tool(int argc, char** argv, CLI::App& app, const std::function<ExitCode()>& body) {
  // A pipe that is closed and a file that may not grow are errors of write().
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  bool quiet = false, force = false;
  add_common_options(app, quiet, force);
  let_last_win(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    return exit_status_of(app.get_name(), [&] {
      std::ostringstream text;
      app.exit(request, text, text);
      write_output("-", text.str());
      return ExitCode::ok;
    });
  } catch (const CLI::ParseError& wrong) {
    print({{Severity::error, Location{app.get_name()}, wrong.what(), ""}});
    std::fputs("Run with --help for usage.\n", stderr);
    return static_cast<int>(ExitCode::usage);
  }
  if (quiet) be_quiet();
  if (!force) keep_inputs();
  prepare_heap();
  return exit_status_of(app.get_name(), body);
}

}  // namespace fuseflow
