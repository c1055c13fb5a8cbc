#include "tensor/text_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "support/error.h"
#include "support/input_kind.h"
#include "support/stop.h"

namespace fuseflow {

namespace {

constexpr size_t kMaxShownToken = 40;
constexpr size_t kMaxShownLine = 2000;

}  // namespace

TextCursor::TextCursor(std::string_view text, const std::string& path)
    : begin_(without_byte_order_mark(text).data()),
      at_(begin_),
      end_(text.data() + text.size()),
      path_(path) {}

void TextCursor::skip_lines(char comment) {
  constexpr uint32_t kLinesBetweenStops = 1U << 16;
  if (++calls_ % kLinesBetweenStops == 0) stop_if_asked();
  for (;;) {
    skip_blanks();
    if (at_ == end_) return;
    if (*at_ == '\n') {
      ++at_;
    } else if (comment != '\0' && *at_ == comment) {
      at_ = std::find(at_, end_, '\n');
    } else {
      return;
    }
  }
}

std::string_view TextCursor::rest_of_line() {
  const char* begin = at_;
  at_ = std::find(at_, end_, '\n');
  const std::string_view line(begin, static_cast<size_t>(at_ - begin));
  if (at_ != end_) ++at_;
  return line;
}

std::string_view TextCursor::token() const {
  const char* end = at_;
  while (end != end_ && *end != ' ' && *end != '\t' && *end != '\n' && *end != '\r') ++end;
  return {at_, std::min(static_cast<size_t>(end - at_), kMaxShownToken)};
}

bool TextCursor::at_number_end() const {
  constexpr std::string_view kEnds = " \t\r\n,#";
  return at_ == end_ || kEnds.find(*at_) != std::string_view::npos;
}

size_t TextCursor::words_left(char comment) const {
  constexpr size_t kMostLooked = 4096;
  size_t words = 0;
  bool inside = false;
  const char* end = at_ + std::min(remaining(), kMostLooked);
  for (const char* c = at_; c != end && *c != '\n' && (comment == '\0' || *c != comment); ++c) {
    const bool blank = *c == ' ' || *c == '\t' || *c == '\r';
    if (!blank && !inside) ++words;
    inside = !blank;
  }
  return words;
}

int TextCursor::line() const {
  return 1 + static_cast<int>(std::min<int64_t>(std::count(begin_, at_, '\n'), INT32_MAX - 1));
}

int64_t TextCursor::integer(const char* what) {
  skip_blanks();
  constexpr int64_t kLimit = INT64_C(100000000000000000);  // ten times it fits in 64 bits
  const char* start = at_;
  int64_t value = 0;
  while (at_ != end_ && *at_ >= '0' && *at_ <= '9') {
    value = value * 10 + (*at_++ - '0');
    if (value >= kLimit) {
      at_ = start;
      fail(fmt::format("{} '{}' is too large", what, token()));
    }
  }
  if (at_ == start || !at_number_end()) {
    at_ = start;
    if (at_line_end()) fail(fmt::format("the line ends where {} is expected", what));
    fail(fmt::format("'{}' is no number for {}, expected a whole number of 0 or more", token(),
                     what));
  }
  return value;
}

uint32_t TextCursor::coordinate(int64_t extent, int64_t base, const char* what) {
  skip_blanks();
  const char* start = at_;
  const int64_t given = integer(what);
  if (given < base || given >= base + extent) {
    at_ = start;
    if (extent == 0) fail(fmt::format("{} {} is out of range, the extent is 0", what, given));
    fail(fmt::format("{} {} is out of range, expected {} to {}", what, given, base,
                     base + extent - 1));
  }
  return static_cast<uint32_t>(given - base);
}

float TextCursor::value() {
  skip_blanks();
  const char* start = at_;
  if (at_ != end_ && *at_ == '+' && at_ + 1 != end_ && at_[1] != '-') ++at_;
  float result = 0;
  const auto [end, status] = std::from_chars(at_, end_, result);
  if (status == std::errc::invalid_argument) {
    at_ = start;
    if (at_line_end()) fail("the line ends where a value is expected");
    fail(fmt::format("'{}' is not a value, expected a number", token()));
  }
  if (status == std::errc::result_out_of_range || std::isinf(result)) {
    // Either too large (an error, unless inf is what was written) or too small (0).
    const std::string text(at_, end);
    const double wide = std::strtod(text.c_str(), nullptr);
    const bool written_inf = text.find_first_of("iI") != std::string::npos;
    if (std::fabs(wide) > 1 && !written_inf) {
      at_ = start;
      fail(fmt::format("value '{}' is beyond the range of f32, expected a magnitude below 3.4e38",
                       token()));
    }
    result = static_cast<float>(wide);
  }
  at_ = end;
  if (!at_number_end()) {
    at_ = start;
    fail(fmt::format("'{}' is not a value, expected a number", token()));
  }
  return result;
}

float TextCursor::integer_value() {
  skip_blanks();
  const char* start = at_;
  if (at_ != end_ && *at_ == '+' && at_ + 1 != end_ && at_[1] != '-') ++at_;
  int64_t result = 0;
  const auto [end, status] = std::from_chars(at_, end_, result);
  at_ = end;
  if (status == std::errc::result_out_of_range && at_number_end()) {
    at_ = start;  // of more than 64 bits, as f32 may hold it
    return value();
  }
  if (status != std::errc{} || !at_number_end()) {
    at_ = start;
    if (at_line_end()) fail("the line ends where a value is expected");
    fail(
        fmt::format("'{}' is not a whole number, but the header says `integer`; expected one, or "
                    "`real` in the header",
                    token()));
  }
  return static_cast<float>(result);
}

void TextCursor::end_line() {
  skip_blanks();
  if (at_ == end_) return;
  if (*at_ != '\n') fail(fmt::format("unexpected '{}', expected the end of the line", token()));
  ++at_;
}

void TextCursor::fail(const std::string& message, size_t back) const {
  const char* place = at_ - std::min(back, static_cast<size_t>(at_ - begin_));
  const char* line = place;
  while (line != begin_ && line[-1] != '\n') --line;
  Diagnostic diagnostic;
  diagnostic.where.file = path_;
  diagnostic.where.line =
      1 + static_cast<int>(std::min<int64_t>(std::count(begin_, line, '\n'), INT32_MAX - 1));
  diagnostic.where.column = 1 + static_cast<int>(std::min<int64_t>(place - line, INT32_MAX - 1));
  diagnostic.message = message;
  const std::string_view text(line, static_cast<size_t>(std::find(place, end_, '\n') - line));
  if (text.size() <= kMaxShownLine) diagnostic.source_line = text;
  throw Error(ExitCode::rejected, {diagnostic});
}

}  // namespace fuseflow
