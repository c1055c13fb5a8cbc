// The shell around every tool: common options, and the one place that maps an outcome to an exit
// status.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "shell/command_line.h"
#include "support/diagnostics.h"
#include "support/guarded_main.h"
#include "support/io.h"
#include "support/terminal.h"

namespace fuseflow {

/// The version of fuseflow, as `--version` prints it after the name.
std::string tool_version();

/// What every filter has: an input (file, `-` or nothing) and an output (`-o FILE`).
struct FilterOptions {
  std::string input = "-";
  std::string output = "-";
  std::string directory;  ///< `-C DIR`; empty: not given
};

void add_filter_options(CommandLine& app, FilterOptions& options);

/// Does one of several things that do not depend on each other; keeps the first error in `error`.
void attempt(std::optional<Error>& error, const std::function<void()>& act);

/// Reads the command line, runs `body` and returns the exit status. `body` may return another
/// status than ok when it has already said why (the simulator's failed checks). Whatever is wrong
/// with the options is to be found out (Error(usage)) before `body` reads any input.
int run_tool(int argc, char** argv, CommandLine& app, const std::function<ExitCode()>& body);

/// Reads the command line of a program that is no tool (a test): the exit status where that ends
/// it, which is --help or wrong usage.
std::optional<int> read_arguments(int argc, char** argv, CommandLine& app);

}  // namespace fuseflow
