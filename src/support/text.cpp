#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuseflow {
namespace {

unsigned byte_at(std::string_view text, size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

/// The code point of a sequence of `length` bytes whose lead byte is well formed.
unsigned code_point(std::string_view text, size_t at, size_t length) {
  constexpr unsigned kLeadBits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
  unsigned code = byte_at(text, at) & kLeadBits[length];
  for (size_t k = 1; k < length; ++k) code = code << 6 | (byte_at(text, at + k) & 0x3f);
  return code;
}

}  // namespace

size_t utf8_length(std::string_view text, size_t at) {
  if (at >= text.size()) return 0;
  const unsigned lead = byte_at(text, at);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  for (size_t k = 1; k < length; ++k) {
    if ((byte_at(text, at + k) & 0xc0) != 0x80) return 0;
  }
  const unsigned code = code_point(text, at, length);
  const unsigned least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < least || code > 0x10ffff || surrogate ? 0 : length;
}

bool is_control(std::string_view text, size_t at, size_t length) {
  const unsigned lead = byte_at(text, at);
  if (length == 1) return lead < 0x20 || lead == 0x7f;
  if (length == 3) return code_point(text, at, length) >= 0xfffe;
  return length == 2 && lead == 0xc2 && byte_at(text, at + 1) < 0xa0;
}

std::string printable(std::string_view text, std::string_view kept) {
  std::string shown;
  shown.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text, at);
    const bool stays = kept.find(text[at]) != std::string_view::npos ||
                       (length > 0 && !is_control(text, at, length));
    const size_t taken = length == 0 ? 1 : length;
    if (stays) {
      shown += text.substr(at, taken);
    } else {
      for (size_t k = 0; k < taken; ++k) shown += fmt::format("\\x{:02x}", byte_at(text, at + k));
    }
    at += taken;
  }
  return shown;
}

std::optional<char> escaped_byte(std::string_view text, size_t at) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (text.substr(at, 2) != "\\x" || at + 3 >= text.size()) return std::nullopt;
  const size_t high = kDigits.find(text[at + 2]);
  const size_t low = kDigits.find(text[at + 3]);
  if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
  return static_cast<char>(16 * high + low);
}

std::string quoted_string(std::string_view text) {
  constexpr std::string_view kEscaped = "\"\\\n\t\r";
  constexpr std::string_view kNames = "\"\\ntr";
  std::string result = "\"";
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text, at);
    const size_t name = kEscaped.find(text[at]);
    if (name != std::string_view::npos) {
      result += '\\';
      result += kNames[name];
    } else {
      result += printable(text.substr(at, std::max<size_t>(length, 1)));
    }
    at += std::max<size_t>(length, 1);
  }
  return result + '"';
}

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::string shown(const std::string& name) {
  return name.size() <= 80 ? name : name.substr(0, 77) + "...";
}

}  // namespace fuseflow
