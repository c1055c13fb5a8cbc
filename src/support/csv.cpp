#include "support/csv.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "support/text.h"

namespace fuseflow {

namespace {

/// Control characters but tabs, bytes that are not UTF-8, and what looks like an
/// escape, as \xHH.
std::string with_escapes(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t length = std::max<size_t>(utf8_length(text, at), 1);
    out += escaped_byte(text, at) ? "\\x5c" : printable(text.substr(at, length), "\t");
    at += length;
  }
  return out;
}

std::string without_escapes(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const std::optional<char> escaped = escaped_byte(text, at);
    out += escaped.value_or(text[at]);
    at += escaped ? 4 : 1;
  }
  return out;
}

/// Nearly all fields.
bool is_plain(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c < '\x7f' && c != '\\'; });
}

}  // namespace

std::string csv_field(const std::string& given) {
  const std::string text = is_plain(given) ? given : with_escapes(given);
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string csv_message(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return csv_field(text);
}

std::vector<std::string> csv_fields(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"') {
        fields.back() += line[++i];
      } else {
        quoted = !quoted;
      }
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  for (std::string& field : fields) {
    if (field.find('\\') != std::string::npos) field = without_escapes(field);
  }
  return fields;
}

}  // namespace fuseflow
