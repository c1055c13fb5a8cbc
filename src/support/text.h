// Texts as they are shown: what is not printable is escaped, so that no input can garble a terminal
// or break a file that must be UTF-8.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace fuseflow {

/// Bytes of the UTF-8 character at `at` (1 to 4); 0 if there is none that is well formed.
size_t utf8_length(std::string_view text, size_t at);

/// Whether the character at `at`, of `length` bytes, is a control character (C0, DEL, C1), or one
/// of U+FFFE and U+FFFF, which are no characters in XML.
bool is_control(std::string_view text, size_t at, size_t length);

/// The text with each control character and each byte that is not UTF-8 as \xHH; characters of
/// `kept` stay as they are.
std::string printable(std::string_view text, std::string_view kept = "");

/// The byte that `\xHH` at `at` stands for, as printable() writes it; nothing if there is none.
std::optional<char> escaped_byte(std::string_view text, size_t at);

/// The text in double quotes with \" \\ \n \t \r, and \xHH for other control characters and for
/// bytes that are not UTF-8: strings of the IR's text, which is always UTF-8.
std::string quoted_string(std::string_view text);

/// Letters of ASCII in lower case.
std::string in_lower_case(std::string_view text);

/// A name out of a file as messages show it: of a long one, only its start.
std::string shown(const std::string& name);

/// `base` if that is not `taken`, else the first of `base` `separator` number that is not, for
/// numbers from `first` on.
template <std::predicate<const std::string&> Taken>
std::string unused_name(const std::string& base, std::string_view separator, int first,
                        const Taken& taken) {
  std::string name = base;
  for (int n = first; taken(name); ++n) {
    name = base;
    name += separator;
    name += std::to_string(n);
  }
  return name;
}

}  // namespace fuseflow
