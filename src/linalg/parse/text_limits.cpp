// One pass over the text that knows strings, comments and brackets, and nothing else of MLIR.
#include "linalg/parse/text_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/error.h"

namespace fuseflow {

namespace {

/// Each level takes up to some kilobytes of stack, in builds with sanitizers several times that.
constexpr int kDeepest = 256;
constexpr uint32_t kLargestAlignment = 1U << 16;
/// Operators of one expression, each a level of the parser's recursion; names of one list, each
/// compared with all others.
constexpr int kMostOperators = 1000;
constexpr int kMostNames = 5000;

class TextScan {
 public:
  TextScan(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  void run();

 private:
  [[noreturn]] void fail(size_t at, const std::string& why) const;
  char at(size_t place) const { return place < text_.size() ? text_[place] : '\0'; }
  /// The place after a string or comment that begins here.
  size_t after_string(size_t begin) const;
  size_t after_comment(size_t begin) const;
  void check_alignment(size_t string_begin) const;
  void bracket(size_t place);
  /// Counts the operators of affine expressions, up to what none of them has.
  void count_operator(size_t place);
  /// The place after a word that begins here; counts mod, floordiv and ceildiv.
  size_t after_word(size_t begin);
  void check_map(size_t begin) const;

  std::string_view text_;
  const std::string& path_;
  int depth_ = 0;
  int operators_ = 0;
  bool resources_ = false;  ///< within {-# .. #-}
};

void TextScan::fail(size_t at, const std::string& why) const {
  const std::string_view before = text_.substr(0, at);
  const auto line = static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1;
  const size_t newline = before.rfind('\n');
  const size_t column = newline == std::string_view::npos ? at + 1 : at - newline;
  throw Error(ExitCode::rejected, Location{path_, line, static_cast<int>(column)}, why);
}

size_t TextScan::after_string(size_t begin) const {
  size_t place = begin + 1;
  while (place < text_.size() && text_[place] != '"' && text_[place] != '\n')
    place += text_[place] == '\\' ? 2 : 1;
  return std::min(place + 1, text_.size());
}

size_t TextScan::after_comment(size_t begin) const {
  return std::min(text_.find('\n', begin), text_.size());
}

/// A resource is "0x", eight digits of its alignment (least byte first), and its bytes.
void TextScan::check_alignment(size_t string_begin) const {
  constexpr size_t kDigits = 8;
  const std::string_view head = text_.substr(string_begin + 1, 2 + kDigits);
  if (head.size() < 2 + kDigits || !head.starts_with("0x")) return;
  uint32_t alignment = 0;
  for (size_t d = 0; d < kDigits; ++d) {
    const char c = head[2 + d];
    const auto letter = static_cast<uint32_t>(c | 0x20);
    const bool digit = c >= '0' && c <= '9';
    if (!digit && (letter < 'a' || letter > 'f')) return;  // the parser says what is wrong
    const uint32_t value = digit ? static_cast<uint32_t>(c - '0') : letter - 'a' + 10;
    alignment |= value << (8 * (d / 2) + (d % 2 == 0 ? 4 : 0));
  }
  if (alignment == 0 || alignment > kLargestAlignment)
    fail(string_begin, fmt::format("a resource that is aligned to {} bytes, expected a power of 2 "
                                   "up to {} (0x04000000 before its elements)",
                                   alignment, kLargestAlignment));
}

void TextScan::bracket(size_t place) {
  const char c = text_[place];
  const bool arrow = c == '>' && place > 0 && text_[place - 1] == '-';
  const bool comparison = (c == '<' || c == '>') && at(place + 1) == '=';
  if (arrow || comparison) return;
  if (c == '(' || c == '[' || c == '{' || c == '<') {
    if (++depth_ > kDeepest)
      fail(place, fmt::format("brackets are nested deeper than {}, expected less", kDeepest));
  }
  if (c == ')' || c == ']' || c == '}' || c == '>') depth_ = std::max(0, depth_ - 1);
  if (c == '{' && at(place + 1) == '-' && at(place + 2) == '#') resources_ = true;
}

void TextScan::count_operator(size_t place) {
  if (++operators_ > kMostOperators)
    fail(place,
         fmt::format("an expression of more than {} operators, expected less", kMostOperators));
}

void TextScan::check_map(size_t begin) const {
  const size_t end = std::min(text_.find("->", begin), text_.size());
  const auto commas = std::count(text_.begin() + static_cast<std::ptrdiff_t>(begin),
                                 text_.begin() + static_cast<std::ptrdiff_t>(end), ',');
  if (commas >= kMostNames)
    fail(begin, fmt::format("a map of more than {} dimensions, expected less", kMostNames));
}

size_t TextScan::after_word(size_t begin) {
  const auto in_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  size_t end = begin + 1;
  while (end < text_.size() && in_word(text_[end])) ++end;
  const std::string_view word = text_.substr(begin, end - begin);
  if (word == "mod" || word == "floordiv" || word == "ceildiv") count_operator(begin);
  if (word == "affine_map" || word == "affine_set") check_map(begin);
  return end;
}

void TextScan::run() {
  int minus_signs = 0;
  for (size_t place = 0; place < text_.size();) {
    const char c = text_[place];
    if (c == '-') {
      if (++minus_signs > kDeepest)
        fail(place, fmt::format("more than {} minus signs in a row, expected less", kDeepest));
    } else if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
      minus_signs = 0;
    }
    if (c == '"') {
      if (resources_) check_alignment(place);
      place = after_string(place);
    } else if (c == '/' && at(place + 1) == '/') {
      place = after_comment(place);
    } else if ((c >= 'a' && c <= 'z') || c == '_') {
      place = after_word(place);
    } else {
      if (c == ',' || c == '=' || c == ':' || c == '@') operators_ = 0;
      const bool arrow = c == '-' && at(place + 1) == '>';
      if (c == '+' || c == '*' || (c == '-' && !arrow)) count_operator(place);
      bracket(place++);
    }
  }
}

}  // namespace

void check_linalg_text(std::string_view text, const std::string& path) {
  TextScan(text, path).run();
}

}  // namespace fuseflow
