#include "support/csv.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "support/text.h"

namespace fuseflow {

namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

/// Whether the reader takes `\xHH` here for a byte.
bool is_escape(std::string_view text, size_t at) {
  return text.substr(at, 2) == "\\x" && at + 3 < text.size() &&
         kHexDigits.find(text[at + 2]) != std::string_view::npos &&
         kHexDigits.find(text[at + 3]) != std::string_view::npos;
}

/// Control characters but line ends and tabs, bytes that are not UTF-8, and what looks like an
/// escape, as \xHH.
std::string with_escapes(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t length = std::max<size_t>(utf8_length(text, at), 1);
    out += is_escape(text, at) ? "\\x5c" : printable(text.substr(at, length), "\n\r\t");
    at += length;
  }
  return out;
}

std::string without_escapes(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const bool escape = is_escape(text, at);
    if (escape) {
      out += static_cast<char>(16 * kHexDigits.find(text[at + 2]) + kHexDigits.find(text[at + 3]));
    } else {
      out += text[at];
    }
    at += escape ? 4 : 1;
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
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out + "\"";
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
