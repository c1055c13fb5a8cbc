#include "passes/option_names.h"

#include "ir/lexer.h"

namespace fuseflow {

namespace {

constexpr size_t kNone = std::string_view::npos;

/// The quote that ends what the one at `begin` opens.
size_t closing_quote(std::string_view text, size_t begin) {
  for (size_t at = begin + 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at;
    }
  }
  return kNone;
}

/// Whether a quote here begins a name, and is none of its characters.
bool begins_name(std::string_view text, size_t at) {
  return at == 0 || std::string_view("=:,@% ").find(text[at - 1]) != kNone;
}

/// Calls `visit(position)` for each separator outside of quotes.
template <typename Visit>
void each_separator(std::string_view text, char separator, const Visit& visit) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == separator) visit(at);
    if (text[at] != '"' || !begins_name(text, at)) continue;
    if (const size_t end = closing_quote(text, at); end != kNone) at = end;
  }
}

}  // namespace

std::string name_in_option(std::string_view text, char sigil) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (text.starts_with(sigil)) text.remove_prefix(1);
  if (!text.starts_with('"')) return std::string(text);
  std::vector<Diagnostic> errors;
  const std::vector<ir::Token> tokens = ir::tokenize({"", std::string(text)}, errors);
  const bool one = errors.empty() && tokens.size() == 2;  // and the end
  return one ? tokens.front().text : std::string(text);
}

size_t find_separator(std::string_view text, char separator) {
  size_t found = kNone;
  each_separator(text, separator, [&](size_t at) {
    if (found == kNone) found = at;
  });
  return found;
}

size_t find_last_separator(std::string_view text, char separator) {
  size_t found = kNone;
  each_separator(text, separator, [&](size_t at) { found = at; });
  return found;
}

std::vector<std::string> parts_of_option(std::string_view text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  each_separator(text, separator, [&](size_t at) {
    parts.emplace_back(text.substr(begin, at - begin));
    begin = at + 1;
  });
  parts.emplace_back(text.substr(begin));
  return parts;
}

}  // namespace fuseflow
