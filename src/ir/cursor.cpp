#include "ir/cursor.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "ir/names.h"
#include "support/diagnostics.h"
#include "support/source_lines.h"

namespace fuseflow::ir {

namespace {

std::string example_text(std::string_view example) {
  return example.empty() ? std::string() : fmt::format(", e.g. `{}`", example);
}

}  // namespace

std::string did_you_mean_name(std::string_view name, const std::vector<std::string>& known,
                              std::string_view sigil) {
  const std::string meant = meant_name(name, known);
  return meant.empty() ? "" : fmt::format("; did you mean {}{}?", sigil, quote_if_needed(meant));
}

Cursor::Cursor(const SourceText& source, std::vector<Diagnostic>& errors)
    : source_(source), errors_(errors), tokens_(tokenize(source, errors)) {}

const Token& Cursor::peek(size_t ahead) const {
  const size_t at = position_ + ahead;
  return at < tokens_.size() ? tokens_[at] : tokens_.back();
}

const Token& Cursor::next() {
  const Token& token = peek();
  if (position_ + 1 < tokens_.size()) ++position_;
  return token;
}

bool Cursor::accept(std::string_view text) {
  if (!at(text)) return false;
  next();
  return true;
}

const Token& Cursor::expect(std::string_view symbol, std::string_view example) {
  if (!at(symbol)) missing(fmt::format("'{}'", symbol), example);
  return next();
}

std::string Cursor::expect_name(std::string_view what, std::string_view example) {
  const TokenKind kind = peek().kind;
  if (kind != TokenKind::identifier && kind != TokenKind::string) unexpected(what, example);
  return next().text;
}

std::string Cursor::expect_sigil(TokenKind kind, std::string_view what, std::string_view example) {
  if (peek().kind != kind) unexpected(what, example);
  return next().text;
}

std::string Cursor::expect_string(std::string_view what, std::string_view example) {
  return expect_sigil(TokenKind::string, what, example);
}

int64_t Cursor::expect_integer(std::string_view what, std::string_view example) {
  return expect_integer_in(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(),
                           what, example);
}

int64_t Cursor::expect_integer_in(int64_t least, int64_t most, std::string_view what,
                                  std::string_view example) {
  const bool negative = at("-") && peek(1).kind == TokenKind::number;
  const Token& token = peek(negative ? 1 : 0);
  if (token.kind != TokenKind::number) missing(what, example);
  const std::string text = (negative ? "-" : "") + token.text;
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc::result_out_of_range ||
      (code == std::errc() && (value < least || value > most))) {
    const bool bounded = most != std::numeric_limits<int64_t>::max();
    fail(token, bounded ? fmt::format("{} is out of range, expected {} from {} to {}", text, what,
                                      least, most)
                        : fmt::format("{} is out of range, expected {} of at least {}{}", text,
                                      what, least, least < 0 ? " and within 64 bits" : ""));
  }
  if (code != std::errc() || end != text.data() + text.size()) {
    fail(token,
         fmt::format("{} is not an integer, expected {}{}", text, what, example_text(example)));
  }
  if (negative) next();
  next();
  return value;
}

bool Cursor::at_float() const {
  const Token& token = peek(at("-") ? 1 : 0);
  return token.kind == TokenKind::number || token.is("inf") || token.is("nan");
}

float Cursor::expect_float(std::string_view what, std::string_view example) {
  if (!at_float()) missing(what, example);
  const bool negative = accept("-");
  const Token& token = next();
  if (token.is("inf")) return negative ? -INFINITY : INFINITY;
  if (token.is("nan")) return std::numeric_limits<float>::quiet_NaN();
  float value = 0;
  const auto [end, code] =
      std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
  if (code == std::errc::result_out_of_range) {
    // Too small is zero and too large a mistake; from_chars does not say which it was.
    const double wide = std::strtod(token.text.c_str(), nullptr);
    if (std::abs(wide) > 1) {
      fail(token,
           fmt::format("{} exceeds the range of f32, expected {} or `inf`", token.text, what));
    }
    value = static_cast<float>(wide);
  } else if (end != token.text.data() + token.text.size()) {
    fail(token, fmt::format("{} is not a number, expected {}", token.text, what));
  }
  return negative ? -value : value;
}

Location Cursor::location(const Token& token) const {
  const int length = static_cast<int>(std::min<size_t>(token.end - token.begin, 1000));
  return {source_.name, token.line, token.column, std::max(1, length)};
}

void Cursor::error(const Location& where, std::string message) {
  ++troubles_;
  if (errors_.size() < kMaxErrors) {
    errors_.push_back(error_at(source_, where, std::move(message)));
  }
}

void Cursor::fail(const Token& token, std::string message) {
  if (token.kind != TokenKind::invalid) error(location(token), std::move(message));
  throw Failure{};
}

void Cursor::unexpected(std::string_view expected, std::string_view example) {
  fail(peek(), fmt::format("unexpected {}, expected {}{}", describe(peek()), expected,
                           example_text(example)));
}

void Cursor::missing(std::string_view expected, std::string_view example) {
  if (position_ == 0 || !peek().first_on_line || peek().kind == TokenKind::invalid) {
    unexpected(expected, example);
  }
  const Token& last = tokens_[position_ - 1];
  Location where = location(last);
  where.column += static_cast<int>(last.end - last.begin);
  where.length = 1;
  error(where, fmt::format("the line ends, expected {}{}", expected, example_text(example)));
  throw Failure{};
}

void Cursor::unknown(const Token& token, std::string_view what,
                     const std::vector<std::string>& known, std::span<const Foreign> foreign) {
  fail(token, fmt::format("unknown {} {}{}; expected one of {}", what, describe(token),
                          did_you_mean(token.text, known, foreign), fmt::join(known, ", ")));
}

void Cursor::expect_block_end(size_t errors_before, std::string_view example) {
  if (accept("}") || troubles_ != errors_before) return;
  unexpected("'}'", example);
}

void Cursor::recover(const std::function<bool(const Token&)>& is_start) {
  ++troubles_;
  int depth = 0;
  for (; !at_end(); next()) {
    if (depth == 0 && (at("}") || is_start(peek()))) return;
    if (at("{")) ++depth;
    if (at("}")) --depth;
  }
}

bool Cursor::lose_names(size_t mark, TokenKind kind) {
  bool any = false;
  for (size_t t = mark; t < position_; ++t) {
    if (tokens_[t].kind != kind) continue;
    lost_.emplace(kind, tokens_[t].text);
    any = true;
  }
  return any;
}

void Cursor::give_up_if_lost(const Token& token) const {
  if (all_lost_.contains(token.kind) || lost_.contains({token.kind, token.text})) throw Failure{};
}

}  // namespace fuseflow::ir
