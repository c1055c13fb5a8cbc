// fuseflow: one name for all tools. `fuseflow sim ...` runs fuseflow-sim ..., the one beside this
// program if there is one, else the one in PATH.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"
#include "support/guarded_main.h"
#include "support/install.h"
#include "support/suggest.h"

namespace fuseflow {
namespace {

struct Tool {
  std::string_view name;
  std::string_view does;
  std::string_view missing;  ///< what to do where it is not there; empty: every installation has it
};

constexpr auto kTools = std::to_array<Tool>({
#include "tools/tool_rows.h"
});

std::string usage() {
  std::string text =
      "A compiler and cycle-accurate simulator for sparse machine learning on dataflow machines.\n"
      "Usage: fuseflow TOOL [OPTIONS]        the same as fuseflow-TOOL [OPTIONS]\n\nTools:\n";
  for (const Tool& tool : kTools) {
    text += "  " + std::string(tool.name) + std::string(14 - tool.name.size(), ' ') +
            std::string(tool.does) + "\n";
  }
  return text +
         "\nfuseflow TOOL --help (or fuseflow help TOOL) says more.\n"
         "fuseflow examples prints the folder of the examples.\n";
}

int fail(ExitCode status, const std::string& message) {
  print({{Severity::error, Location{"fuseflow"}, message, ""}});
  return static_cast<int>(status);
}

int print_text(const std::string& text) {
  const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (written) return static_cast<int>(ExitCode::ok);
  return fail(ExitCode::io,
              std::string("standard output could not be written: ") + std::strerror(errno));
}

const Tool* find_tool(std::string_view name) {
  for (const Tool& tool : kTools) {
    if (tool.name == name) return &tool;
  }
  return nullptr;
}

int unknown_tool(const std::string& name) {
  std::vector<std::string> names;
  names.reserve(kTools.size());
  for (const Tool& tool : kTools) names.emplace_back(tool.name);
  const std::string advice = did_you_mean(name, names, {}, ", did you mean `", "`?");
  return fail(ExitCode::usage,
              "there is no tool `" + name + "`" + advice + "\nRun with --help for the list.");
}

/// Becomes fuseflow-NAME with these arguments; returns only where that cannot be started.
int start(const std::string& name, std::vector<std::string> arguments) {
  const Tool* tool = find_tool(name);
  if (tool == nullptr) return unknown_tool(name);
  const std::string program = "fuseflow-" + name;
  arguments.insert(arguments.begin(), program);
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const std::string beside = own_folder() + program;
  if (beside != program) execv(beside.c_str(), pointers.data());  // not of the current folder
  execvp(program.c_str(), pointers.data());
  const std::string why = program + " could not be started: " + std::strerror(errno);
  return fail(ExitCode::io, tool->missing.empty() ? why : why + "; " + std::string(tool->missing));
}

/// Prints where the examples are: where an installation has them, in a build tree too
/// (cmake/package.cmake).
int print_examples() {
  std::error_code none;
  const std::filesystem::path folder =
      std::filesystem::path(own_folder()) / ".." / "share" / "doc" / "fuseflow" / "examples";
  if (!std::filesystem::is_directory(folder, none)) {
    return fail(ExitCode::io, "there are no examples at " + folder.lexically_normal().string() +
                                  ", expected an installation or a build tree");
  }
  return print_text(folder.lexically_normal().string() + "\n");
}

int run(const std::vector<std::string>& given) {
  if (given.empty()) {
    std::fputs(usage().c_str(), stderr);
    return static_cast<int>(ExitCode::usage);
  }
  const std::string& name = given[0];
  if (name == "--version" || name == "-V") return print_text("fuseflow " FUSEFLOW_VERSION "\n");
  if (name == "help" && given.size() > 1) return start(given[1], {"--help"});
  if (name == "--help" || name == "-h" || name == "help") return print_text(usage());
  if (name == "examples") return print_examples();
  return start(name, {given.begin() + 1, given.end()});
}

int tool_main(int argc, char** argv) {
  return run({argv + 1, argv + argc});
}

}  // namespace
}  // namespace fuseflow

int main(int argc, char** argv) {
  return fuseflow::guarded_main(argc, argv, fuseflow::tool_main);
}
