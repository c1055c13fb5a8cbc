#include "shell/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "support/suggest.h"

namespace fuseflow {

namespace {

constexpr size_t kNameColumn = 34;  // where descriptions begin in --help

/// CLI11's own validators of numbers name the largest number of the type in their messages, which
/// for a double has 309 digits.
CLI::Validator number_of(double least, bool included) {
  return CLI::Validator(
      [=](const std::string& text) {
        double value = 0;
        const bool number = CLI::detail::lexical_cast(text, value) && std::isfinite(value);
        const bool fits = number && (included ? value >= least : value > least);
        return fits ? std::string()
                    : fmt::format("`{}` is unusable, expected a number {} {}", text,
                                  included ? "from" : "above", least);
      },
      "");
}

/// A whole number between two bounds, which may both be taken. (How CLI11 words its own check
/// depends on its version. It reads `010` as octal, and what is too large as the largest number.)
CLI::Validator whole_number(int64_t least, int64_t most, const std::string& range) {
  return CLI::Validator(
      [=](const std::string& text) {
        int64_t value = 0;
        std::from_chars(text.data(), text.data() + text.size(), value);
        const bool fits = fmt::format("{}", value) == text && value >= least && value <= most;
        return fits ? std::string()
                    : fmt::format("`{}` is unusable, expected a whole number {}", text, range);
      },
      "");
}

/// CLI11 ends a help text with one or two line ends, by its version.
std::string with_one_line_end(std::string text) {
  while (text.ends_with("\n")) text.pop_back();
  return text + "\n";
}

/// CLI11's own names the set alone.
CLI::Validator one_of(const std::vector<std::string>& values) {
  return CLI::Validator(
      [values](const std::string& text) {
        if (std::find(values.begin(), values.end(), text) != values.end()) return std::string();
        return fmt::format("`{}` is unknown{}; expected one of {}", text,
                           did_you_mean(text, values, {}, ", did you mean `", "`?"),
                           fmt::join(values, ", "));
      },
      fmt::format("{{{}}}", fmt::join(values, ",")));
}

std::vector<CLI::App*> parts_of(CLI::App& app) {
  std::vector<CLI::App*> parts = {&app};
  for (CLI::App* part : app.get_subcommands([](CLI::App*) { return true; })) {
    for (CLI::App* inner : parts_of(*part)) parts.push_back(inner);
  }
  return parts;
}

/// Long names of options, without dashes.
std::vector<std::string> option_names(CLI::App& app) {
  std::vector<std::string> names;
  for (CLI::App* part : parts_of(app)) {
    for (const CLI::Option* option : part->get_options()) {
      if (option->get_group().empty()) continue;  // hidden
      for (const std::string& name : option->get_lnames()) names.push_back(name);
    }
  }
  return names;
}

/// What of the command line no option takes: the first of it that looks like one, else the first.
std::string unexpected_argument(CLI::App& app, const std::vector<std::string>& extras) {
  const auto option = std::find_if(extras.begin(), extras.end(), [](const std::string& text) {
    return text.size() > 1 && text[0] == '-';
  });
  if (option != extras.end()) {
    const std::string name = option->substr(0, option->find('='));
    const std::string bare = name.substr(std::min(name.find_first_not_of('-'), name.size()));
    std::string near = did_you_mean(bare, option_names(app), {}, ", did you mean `--", "`?");
    return fmt::format("unknown option `{}`{}", name, near);
  }
  std::string taken;
  for (CLI::App* part : parts_of(app)) {
    for (const CLI::Option* one : part->get_options()) {
      if (!one->get_positional() || one->results().empty()) continue;
      taken = fmt::format(": `{}` is the {} already", one->results().back(), one->get_name(true));
    }
  }
  return fmt::format("unexpected argument `{}`{}", extras.front(), taken);
}

std::string unknown_command(CLI::App& app, const std::string& given) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    if (!command->get_name().empty()) names.push_back(command->get_name());
  }
  return fmt::format("unknown command `{}`{}; expected one of {}", given,
                     did_you_mean(given, names, {}, ", did you mean `", "`?"),
                     fmt::join(names, ", "));
}

/// Says which option has an empty value, as an unset variable of a script leaves it: no option
/// means anything by that. Of an option given again the value that counts is looked at.
std::string empty_value(CLI::App& app) {
  for (CLI::App* part : parts_of(app)) {
    for (const CLI::Option* option : part->get_options()) {
      if (option->count() == 0 || option->get_items_expected_min() == 0) continue;
      const CLI::results_t values = option->reduced_results();
      if (std::find(values.begin(), values.end(), "") == values.end()) continue;
      std::string expected = option->get_option_text();
      std::erase_if(expected, [](char c) { return c == '[' || c == ']'; });
      return fmt::format("{}: the value is empty, expected {}", option->get_name(), expected);
    }
  }
  return "";
}

void let_last_win(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const bool list = option->get_items_expected_max() >= CLI::detail::expected_max_vector_size;
    const bool decided = option->get_multi_option_policy() != CLI::MultiOptionPolicy::Throw;
    if (!list && !decided && !option->get_positional()) option->take_last();
  }
}

}  // namespace

Option& Option::option_text(const std::string& text) {
  option_->option_text(text);
  return *this;
}
Option& Option::description(const std::string& text) {
  option_->description(text);
  return *this;
}
Option& Option::hidden() {
  option_->group("");
  return *this;
}
Option& Option::required() {
  option_->required();
  return *this;
}
Option& Option::expected(int count) {
  option_->expected(count);
  return *this;
}
Option& Option::expected(int least, int most) {
  option_->expected(least, most);
  return *this;
}
Option& Option::default_str(const std::string& value) {
  option_->default_str(value);
  return *this;
}
Option& Option::one_a_use() {
  option_->allow_extra_args(false);
  return *this;
}
Option& Option::all_uses() {
  option_->expected(1)->allow_extra_args(false)->multi_option_policy(
      CLI::MultiOptionPolicy::TakeAll);
  return *this;
}
Option& Option::delimiter(char separator) {
  option_->delimiter(separator);
  return *this;
}
Option& Option::without_value() {
  option_->disable_flag_override();
  return *this;
}
Option& Option::among(const std::vector<std::string>& values) {
  option_->check(one_of(values));
  return *this;
}
Option& Option::between(int64_t least, int64_t most) {
  option_->check(whole_number(least, most, fmt::format("from {} to {}", least, most)));
  return *this;
}
Option& Option::number_from(double least) {
  option_->check(number_of(least, true));
  return *this;
}
Option& Option::number_above(double least) {
  option_->check(number_of(least, false));
  return *this;
}
Option& Option::whole_from(int64_t least) {
  option_->check(whole_number(least, INT64_MAX, fmt::format("from {}", least)));
  return *this;
}
Option& Option::whole_above(int64_t least) {
  option_->check(whole_number(least + 1, INT64_MAX, fmt::format("above {}", least)));
  return *this;
}
Option& Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}
Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}
bool Option::given() const {
  return option_->count() > 0;
}

CommandLine::CommandLine(const std::string& description, const std::string& tool)
    : owned_(std::make_unique<CLI::App>(description, tool)), app_(owned_.get()), tool_(tool) {
  app_->get_formatter()->column_width(kNameColumn);
}
CommandLine::CommandLine(CLI::App* app, const std::string& tool) : app_(app), tool_(tool) {
  app_->get_formatter()->column_width(kNameColumn);
}
CommandLine::~CommandLine() = default;

Option& CommandLine::keep(CLI::Option* option) {
  return options_.emplace_back(option);
}

template <typename Value>
Option& CommandLine::add_option(const std::string& names, Value& value,
                                const std::string& description) {
  return keep(app_->add_option(names, value, description));
}
template Option& CommandLine::add_option(const std::string&, std::string&, const std::string&);
template Option& CommandLine::add_option(const std::string&, int&, const std::string&);
template Option& CommandLine::add_option(const std::string&, int64_t&, const std::string&);
template Option& CommandLine::add_option(const std::string&, uint64_t&, const std::string&);
template Option& CommandLine::add_option(const std::string&, double&, const std::string&);
template Option& CommandLine::add_option(const std::string&, std::vector<std::string>&,
                                         const std::string&);
template Option& CommandLine::add_option(const std::string&, std::vector<int64_t>&,
                                         const std::string&);
template Option& CommandLine::add_option(const std::string&, std::vector<uint64_t>&,
                                         const std::string&);

template Option& CommandLine::add_option(const std::string&, std::set<std::string>&,
                                         const std::string&);

Option& CommandLine::add_flag(const std::string& names, bool& value,
                              const std::string& description) {
  return keep(app_->add_flag(names, value, description));
}

Option& CommandLine::on_value(const std::string& names,
                              std::function<void(const std::string&)> take,
                              const std::string& description) {
  return keep(app_->add_option_function<std::string>(names, std::move(take), description)
                  ->trigger_on_parse());
}

Option& CommandLine::on_flag(const std::string& names, std::function<void()> take,
                             const std::string& description) {
  return keep(app_->add_flag_function(
      names, [take = std::move(take)](int64_t) { take(); }, description));
}

Option& CommandLine::option(const std::string& name) {
  CLI::Option* found = app_->get_option_no_throw(name);
  for (const auto& choice : choices_) {
    if (found == nullptr) found = choice->app_->get_option_no_throw(name);
  }
  if (found == nullptr) throw std::logic_error(tool_ + " has no option " + name);
  return keep(found);
}

CommandLine& CommandLine::add_choice(const std::string& name, const std::string& description) {
  CLI::App* group = app_->add_option_group(name, description);
  group->require_option(0, 1);
  return *choices_.emplace_back(new CommandLine(group, tool_));
}

CommandLine& CommandLine::add_command(const std::string& name, const std::string& description) {
  if (commands_.empty()) {
    app_->require_subcommand(1);
    app_->fallthrough();
    // Completion and man pages are made from a tool's own help, which says what its commands take.
    app_->set_help_flag();
    app_->set_help_all_flag("-h,--help", "Print this help message and exit");
  }
  CLI::App* command = app_->add_subcommand(name, description);
  command->fallthrough();
  return *commands_.emplace_back(new CommandLine(command, tool_));
}

bool CommandLine::commanded() const {
  return app_->parsed();
}

void CommandLine::set_version(const std::string& text) {
  app_->set_version_flag("-V,--version", text);
}

ParsedLine CommandLine::parse(int argc, char** argv) {
  let_last_win(*app_);
  for (const auto& command : commands_) let_last_win(*command->app_);
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    std::ostringstream text;
    app_->exit(request, text, text);
    return {false, with_one_line_end(text.str()), ""};
  } catch (const CLI::ExtrasError& wrong) {
    const std::vector<std::string> extras = app_->remaining(true);
    return {false, "", extras.empty() ? wrong.what() : unexpected_argument(*app_, extras)};
  } catch (const CLI::RequiredError& wrong) {
    const std::vector<std::string> extras = app_->remaining(true);
    if (commands_.empty() || extras.empty()) return {false, "", wrong.what()};
    return {false, "", unknown_command(*app_, extras.front())};
  } catch (const CLI::ParseError& wrong) {
    return {false, "", wrong.what()};
  }
  std::string empty = empty_value(*app_);
  return {empty.empty(), "", std::move(empty)};
}

}  // namespace fuseflow
