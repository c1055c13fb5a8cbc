// A cursor over a mapped text of numbers: what the readers of .mtx, .tns and .smtx share. Positions
// become lines and columns only when an error is thrown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fuseflow {

class TextCursor {
 public:
  /// A mark of the encoding in front of the text, which some editors put there, is passed over.
  TextCursor(std::string_view text, const std::string& path);

  bool at_end() const { return at_ == end_; }
  size_t remaining() const { return static_cast<size_t>(end_ - at_); }
  char peek() const { return at_ == end_ ? '\0' : *at_; }
  void advance() { ++at_; }

  /// Skips blanks within the line (carriage returns count as blanks).
  void skip_blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }
  /// Skips blanks, empty lines and lines that start with `comment` ('\0': there are none). Readers
  /// call it for every line or entry; it looks at stop_if_asked().
  void skip_lines(char comment);
  bool at_line_end() const { return at_ == end_ || *at_ == '\n'; }
  /// Words between here and the end of the line, or `comment` before it; at most 4096 characters
  /// are looked at.
  size_t words_left(char comment = '\0') const;
  /// From 1. Takes as long as the text before it.
  int line() const;
  /// The rest of the line, which is consumed.
  std::string_view rest_of_line();

  // A number ends at a blank, at the end of the line, or at ',' or '#', which the reader of the
  // format takes or refuses. So "2.5" is never a whole number 2 and a value .5 after it.

  /// A non-negative number of at most 17 digits; `what` names it in errors.
  int64_t integer(const char* what);
  /// A coordinate from `base` to base + extent - 1, as one counted from 0.
  uint32_t coordinate(int64_t extent, int64_t base, const char* what);
  /// A value as f32: decimal, inf or nan. A magnitude beyond f32 is an error, a tiny one is 0.
  float value();
  /// A value that is an integer, in a file whose header says so.
  float integer_value();
  /// Checks that nothing but blanks follows on the line, and goes to the next one.
  void end_line();

  /// Error at the current position (or `back` characters before it).
  [[noreturn]] void fail(const std::string& message, size_t back = 0) const;

 private:
  std::string_view token() const;
  bool at_number_end() const;

  const char* begin_;
  const char* at_;
  const char* end_;
  uint32_t calls_ = 0;  // of skip_lines()
  const std::string& path_;
};

}  // namespace fuseflow
