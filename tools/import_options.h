// Options that say NAME=VALUE (those of fuseflow-import, --expect), read alike by tools and tests.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/error.h"

namespace fuseflow {

/// NAME=VALUE, apart; nothing if the text is none. The name ends at the first '='. A name that
/// holds one stands in double quotes, in which \" and \\ are a quote and a backslash.
inline std::optional<std::pair<std::string, std::string>> split_name(const std::string& text) {
  std::string name;
  size_t equals = text.find('=');
  if (text.starts_with('"')) {
    size_t at = 1;
    for (; at < text.size() && text[at] != '"'; ++at) {
      if (text[at] == '\\' && at + 1 < text.size()) ++at;
      name += text[at];
    }
    equals = at + 1;
  } else if (equals != std::string::npos) {
    name = text.substr(0, equals);
  }
  if (name.empty() || equals + 1 >= text.size() || text[equals] != '=') return std::nullopt;
  return std::pair{name, text.substr(equals + 1)};
}

/// split_name() of what was given for `option`; throws Error(usage) where it is no NAME=VALUE.
inline std::pair<std::string, std::string> name_and_value(const std::string& text,
                                                          const char* option) {
  if (const auto halves = split_name(text)) return *halves;
  throw Error(ExitCode::usage, std::string(option) + " '" + text +
                                   "': expected NAME=VALUE; a name with '=' stands in double "
                                   "quotes, '\"a=b\"=VALUE'");
}

/// Fills `map` from all that was given for `option`; `convert` reads a value. Throws Error(usage)
/// for a name given twice.
template <typename Map, typename Convert>
void collect(const std::vector<std::string>& given, const char* option, Map& map,
             const Convert& convert) {
  for (const std::string& text : given) {
    auto [name, value] = name_and_value(text, option);
    if (!map.emplace(name, convert(value)).second) {
      throw Error(ExitCode::usage, std::string(option) + " " + name + ": given twice");
    }
  }
}

}  // namespace fuseflow
