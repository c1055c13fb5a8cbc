#include "tensor/derived.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/error.h"

namespace fuseflow {

std::vector<DerivedOption> parse_derived(std::string_view text) {
  std::vector<DerivedOption> options;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    // A name may hold '='; what follows the last one before a bracket or a quote is the value.
    const size_t blank = line.find(' ');
    const size_t stop = std::min(line.find_first_of("(\""), line.size());
    const size_t equals = line.rfind('=', stop);
    if (blank == std::string::npos || equals == std::string::npos || equals < blank) {
      throw Error(ExitCode::rejected,
                  fmt::format("onnx(..., derived=...): '{}' is not an option of an import", line));
    }
    options.push_back({line.substr(0, blank), line.substr(blank + 1, equals - blank - 1),
                       line.substr(equals + 1)});
  }
  return options;
}

std::string print_derived(const std::vector<DerivedOption>& options) {
  std::string text;
  for (const DerivedOption& option : options) {
    text +=
        fmt::format("{}{} {}={}", text.empty() ? "" : "\n", option.kind, option.name, option.value);
  }
  return text;
}

void replace_paths(Source& source, const std::function<std::string(const std::string&)>& replace) {
  if (source.kind != Source::Kind::file && source.kind != Source::Kind::onnx) return;
  source.path = replace(source.path);
  for (auto& [key, value] : source.params) {
    if (key != "derived") continue;
    std::vector<DerivedOption> options = parse_derived(value);
    for (DerivedOption& option : options) {
      if (option.kind != "bind") continue;
      Source bound = parse_source(option.value);
      replace_paths(bound, replace);
      option.value = to_string(bound);
    }
    value = print_derived(options);
  }
}

}  // namespace fuseflow
