// fuseflow: one name for all tools. `fuseflow sim ...` runs fuseflow-sim ..., the one beside this
// program if there is one, else the one in PATH.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "support/error.h"

namespace fuseflow {
namespace {

struct Tool {
  std::string_view name;
  std::string_view does;
};

constexpr std::array kTools = std::to_array<Tool>({
    {"import", "ONNX to a program, one region a kernel"},
    {"fuse", "merges regions"},
    {"order", "chooses, lists or counts dataflow orders"},
    {"place", "where intermediates and inputs live"},
    {"block", "dense blocks at the innermost levels"},
    {"parallelize", "splits an index over copies of the graph"},
    {"lower", "regions to dataflow graphs"},
    {"sim", "simulates cycle by cycle, checks, reports"},
    {"estimate", "FLOPs, bytes and cycles without simulating"},
    {"explore", "searches the schedules"},
    {"cluster", "plans dense chains over linked scratchpads"},
    {"dot", "Graphviz of a program or of its graphs"},
    {"diff", "what changed between two runs or programs"},
    {"report", "one page of what was run"},
});

std::string usage() {
  std::string text =
      "A compiler and cycle-accurate simulator for sparse machine learning on dataflow machines.\n"
      "Usage: fuseflow TOOL [OPTIONS]        the same as fuseflow-TOOL [OPTIONS]\n\nTools:\n";
  for (const Tool& tool : kTools) {
    text += "  " + std::string(tool.name) + std::string(14 - tool.name.size(), ' ') +
            std::string(tool.does) + "\n";
  }
  return text + "\nfuseflow TOOL --help says more.\n";
}

int print(const std::string& text) {
  const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (written) return static_cast<int>(ExitCode::ok);
  std::fprintf(stderr, "error: standard output could not be written: %s\n", std::strerror(errno));
  return static_cast<int>(ExitCode::io);
}

/// The folder of this program with a slash at its end; empty if the system does not tell.
std::string own_folder() {
  std::array<char, PATH_MAX> path;
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  if (length <= 0) return "";
  const std::string_view program(path.data(), static_cast<size_t>(length));
  return std::string(program.substr(0, program.rfind('/') + 1));
}

bool is_tool(std::string_view name) {
  for (const Tool& tool : kTools) {
    if (tool.name == name) return true;
  }
  return false;
}

int unknown_tool(const std::string& name) {
  std::vector<std::string> names;
  for (const Tool& tool : kTools) names.emplace_back(tool.name);
  const std::string nearest = nearest_name(name, names);
  std::fprintf(stderr, "fuseflow: error: there is no tool `%s`%s\nRun with --help for the list.\n",
               name.c_str(), nearest.empty() ? "" : (", did you mean `" + nearest + "`?").c_str());
  return static_cast<int>(ExitCode::usage);
}

int run(int argc, char** argv) {
  if (argc < 2) {
    std::fputs(usage().c_str(), stderr);
    return static_cast<int>(ExitCode::usage);
  }
  const std::string name = argv[1];
  if (name == "--help" || name == "-h" || name == "help") return print(usage());
  if (name == "--version" || name == "-V") return print("fuseflow " FUSEFLOW_VERSION "\n");
  if (!is_tool(name)) return unknown_tool(name);
  const std::string program = "fuseflow-" + name;
  std::vector<char*> arguments(argv + 1, argv + argc);
  arguments[0] = const_cast<char*>(program.c_str());
  arguments.push_back(nullptr);
  const std::string beside = own_folder() + program;
  execv(beside.c_str(), arguments.data());
  execvp(program.c_str(), arguments.data());
  std::fprintf(stderr, "fuseflow: error: %s could not be started: %s\n", program.c_str(),
               std::strerror(errno));
  return static_cast<int>(ExitCode::io);
}

}  // namespace
}  // namespace fuseflow

int main(int argc, char** argv) {
  return fuseflow::run(argc, argv);
}
