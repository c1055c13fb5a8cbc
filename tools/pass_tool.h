// What the tools of passes share: flags and help from the pass table, the filter around the pass.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "passes/pass.h"
#include "program_tool.h"

namespace fuseflow {

void add_pass_options(CommandLine& app, const Pass& pass, PassArguments& arguments);

/// Says what the pass did, a note each line.
void print_log(const Pass& pass, const PassLog& log);

/// What a pass makes of a program's text, verified, as a text; data paths stay as they are.
std::string run_pass(const Pass& pass, const SourceText& source, const PassArguments& arguments,
                     PassLog& log);

/// Reads the program, runs the pass and gives what it makes, verified, to `write`; or writes the
/// list that was asked for. Options have been checked.
ExitCode run_filter(const Pass& pass, const ProgramOptions& filter, const PassArguments& arguments,
                    const std::function<void(const Program&)>& write);

/// The whole of a tool that is nothing but a pass; one that chooses does so by the estimate.
int run_pass_tool(std::string_view name, int argc, char** argv);

}  // namespace fuseflow
