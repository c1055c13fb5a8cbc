#include "machine/dotted_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "support/error.h"

namespace fuseflow {
namespace {

constexpr int kMostParts = 16;

bool in_bare_part(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

/// The end of the part of a key that begins at `at`, which is no part if it ends there.
size_t part_end(std::string_view text, size_t at) {
  if (at < text.size() && (text[at] == '"' || text[at] == '\'')) {
    const size_t close = text.find(text[at], at + 1);
    return close == std::string_view::npos ? at : close + 1;
  }
  const auto* const first = text.begin() + at;
  return static_cast<size_t>(std::find_if_not(first, text.end(), in_bare_part) - text.begin());
}

size_t blanks_end(std::string_view text, size_t at) {
  return std::min(text.find_first_not_of(" \t", at), text.size());
}

}  // namespace

/// Whatever looks like a dotted key counts, also within a text: none has so many parts.
void check_dotted_keys(std::string_view text, const std::string& file) {
  int parts = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = part_end(text, at);
    if (end == at) {
      parts = 0;
      ++at;
      continue;
    }
    const size_t dot = blanks_end(text, end);
    const bool goes_on = dot < text.size() && text[dot] == '.';
    parts = goes_on ? parts + 1 : 0;
    at = goes_on ? blanks_end(text, dot + 1) : end;
    if (parts < kMostParts) continue;
    const auto line = 1 + std::count(text.begin(), text.begin() + at, '\n');
    throw Error(ExitCode::rejected, Location{file, static_cast<int>(line), 1, 1},
                fmt::format("a key of more than {} parts, expected one such as "
                            "`units.scan.latency_cycles`",
                            kMostParts));
  }
}

}  // namespace fuseflow
