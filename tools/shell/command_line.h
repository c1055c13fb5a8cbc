// The command line of a tool: options, flags and commands. CLI11 does the work, and
// command_line.cpp alone includes it: a file that does takes ten seconds to compile.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace fuseflow {

/// One option, flag or positional argument. What changes it returns it, so that changes chain.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  /// What stands for the value in --help.
  Option& option_text(const std::string& text);
  Option& description(const std::string& text);
  /// Not in --help.
  Option& hidden();

  Option& required();
  /// How many values each use takes.
  Option& expected(int count);
  Option& expected(int least, int most);
  /// The value where the option is given without one.
  Option& default_str(const std::string& value);
  /// A list takes one value a use. Otherwise it would take the input file, too.
  Option& one_a_use();
  /// All uses of a list count, each with one value.
  Option& all_uses();
  /// What separates the values of a list.
  Option& delimiter(char separator);
  /// A flag takes no value: `--flag=3` is wrong usage.
  Option& without_value();

  Option& among(const std::vector<std::string>& values);
  Option& between(int64_t least, int64_t most);
  Option& number_from(double least);
  Option& number_above(double least);
  Option& whole_from(int64_t least);
  Option& whole_above(int64_t least);

  Option& needs(const Option& other);
  Option& excludes(const Option& other);

  /// After the command line was read: whether the option was used.
  bool given() const;

 private:
  CLI::Option* option_;
};

/// What came of reading a command line.
struct ParsedLine {
  bool run = false;   ///< the tool is to do its work
  std::string text;   ///< else: what --help or --version prints, if it was that
  std::string wrong;  ///< else: what is wrong with the command line
};

class CommandLine {
 public:
  CommandLine(const std::string& description, const std::string& tool);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  const std::string& tool() const { return tool_; }

  /// The value given for an option of `names` (`-o,--output`; `input` is positional) goes to
  /// `value`: a string, an int, int64_t, uint64_t or double, a vector of strings or whole numbers,
  /// or a set of strings.
  template <typename Value>
  Option& add_option(const std::string& names, Value& value, const std::string& description);
  Option& add_flag(const std::string& names, bool& value, const std::string& description);
  /// Calls `take` with each value, in the order of the command line.
  Option& on_value(const std::string& names, std::function<void(const std::string&)> take,
                   const std::string& description);
  Option& on_flag(const std::string& names, std::function<void()> take,
                  const std::string& description);

  /// The option of that name, which must be there.
  Option& option(const std::string& name);
  bool given(const std::string& name) { return option(name).given(); }

  /// A heading in --help with options of its own, of which at most one may be given.
  CommandLine& add_choice(const std::string& name, const std::string& description);

  /// A command, of which the tool then needs one; --help of the tool shows those of all.
  CommandLine& add_command(const std::string& name, const std::string& description);
  /// Whether this command was given.
  bool commanded() const;

  void set_version(const std::string& text);

  /// Reads the command line. Of an option that is given again the last value counts, so that a
  /// script's options can be changed by adding to them; lists add up.
  ParsedLine parse(int argc, char** argv);

 private:
  CommandLine(CLI::App* app, const std::string& tool);
  Option& keep(CLI::Option* option);

  std::unique_ptr<CLI::App> owned_;  ///< null of a command and of a choice
  CLI::App* app_;
  std::string tool_;
  std::deque<Option> options_;
  std::deque<std::unique_ptr<CommandLine>> choices_, commands_;
};

}  // namespace fuseflow
