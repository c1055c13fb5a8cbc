// A pass is a function from program to program with a name, a one-line description and options. One
// table (passes()) registers all of them; the tools' flags and help come from it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "passes/cost_model.h"
#include "search/whole_kernels.h"

namespace fuseflow {

struct PassOption {
  std::string_view name;         ///< the flag without its dashes
  std::string_view value;        ///< how help calls the value; empty: the option is a flag
  std::string_view description;  ///< one line
  bool repeatable = false;
};

/// The options given, by name, in the order of the command line. A flag has the value "true".
class PassArguments {
 public:
  void add(std::string_view name, std::string value) {
    values_[std::string(name)].push_back(std::move(value));
  }
  bool has(std::string_view name) const { return values_.count(std::string(name)) > 0; }
  /// The last value given, or `fallback`.
  std::string get(std::string_view name, std::string_view fallback = "") const;
  const std::vector<std::string>& all(std::string_view name) const;
  /// Makes what every `auto` goes by; none: expected stream lengths (lower/flops.h).
  CostModelMaker costs;
  /// Plans what runs on the machine's cores, for fuse; none: streams alone are considered.
  TilePlanner tiles;
  /// The machine, for fuse; none: that of the options `machine` and `machine-set`.
  std::optional<Machine> machine;

 private:
  std::map<std::string, std::vector<std::string>> values_;
};

/// What a pass did, in lines for standard error, and what its option `list` asked for.
class PassLog {
 public:
  void note(std::string line) { lines_.push_back(std::move(line)); }
  /// All that `other` says, too.
  void note_all(const PassLog& other) {
    for (const std::string& line : other.lines()) note(line);
  }
  const std::vector<std::string>& lines() const { return lines_; }
  /// A CSV, which the pass's tool prints instead of the program.
  void list(std::string csv) { list_ = std::move(csv); }
  const std::string& listed() const { return list_; }

 private:
  std::vector<std::string> lines_;
  std::string list_;
};

struct Pass {
  std::string_view name;         ///< of the pass and of its tool: fuseflow-NAME
  std::string_view description;  ///< one line
  std::vector<PassOption> options;
  /// Takes and gives a valid program. Throws Error(usage) for malformed option values and
  /// Error(rejected) for requests that the program does not allow. Called by run_pass alone.
  Program (*run)(const Program& program, const PassArguments& arguments, PassLog& log);
  /// Throws Error(usage) for whatever is wrong with the options without regard to a program: tools
  /// call it before they read one.
  void (*check)(const PassArguments& arguments);
};

/// Runs a pass and answers for the graphs that regions had: the one place where a pass loses one.
/// A graph that lowering gives again goes with a note. One that it does not (changed or written by
/// hand, planned by fuseflow-cluster) stays with its region where the pass works on all regions,
/// with a note, and is a reason to refuse (Error(rejected), nothing changed) where the pass was
/// asked to change or to merge that region; `--drop-graphs` lets all of them go. Plan lines go with
/// their graph.
Program run_pass(const Pass& pass, const Program& program, const PassArguments& arguments,
                 PassLog& log);

/// All passes, in the order of the pipe.
const std::vector<Pass>& passes();

/// Throws Error(internal) if there is none.
const Pass& find_pass(std::string_view name);

}  // namespace fuseflow
