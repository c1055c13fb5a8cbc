// The options of fuseflow-import that say NAME=VALUE, read alike by the tool and by tests.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/error.h"

namespace fuseflow {

/// NAME=VALUE; the name ends at the first '=' that is followed by something. Throws Error(usage).
inline std::pair<std::string, std::string> name_and_value(const std::string& text,
                                                          const char* option) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw Error(ExitCode::usage, std::string(option) + " '" + text + "': expected NAME=VALUE");
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
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
