// What every part of the parser shares: the current token, expectations, collected errors, numbers
// with overflow checks, and recovery. Internal to the parser (parse*.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/lexer.h"
#include "support/error.h"
#include "support/io.h"

namespace fuseflow::ir {

/// Thrown after an error has been recorded, caught where parsing can go on.
struct Failure {};

class Cursor {
 public:
  Cursor(const SourceText& source, std::vector<Diagnostic>& errors);

  const Token& peek(size_t ahead = 0) const;
  const Token& next();  ///< takes the token
  bool at(std::string_view text) const { return peek().is(text); }
  bool at_end() const { return peek().kind == TokenKind::end; }
  bool accept(std::string_view text);
  const Token& expect(std::string_view symbol, std::string_view example);

  /// A name: an identifier, or a string (a quoted name). `what` names it in the message.
  std::string expect_name(std::string_view what, std::string_view example);
  std::string expect_sigil(TokenKind kind, std::string_view what, std::string_view example);
  /// [-] digits, within int64.
  int64_t expect_integer(std::string_view what, std::string_view example);
  int64_t expect_integer_in(int64_t least, int64_t most, std::string_view what,
                            std::string_view example);
  /// [-] number, inf, nan.
  float expect_float(std::string_view what, std::string_view example);
  std::string expect_string(std::string_view what, std::string_view example);
  bool at_float() const;

  Location location(const Token& token) const;
  Location location() const { return location(peek()); }
  /// Records an error; parsing goes on.
  void error(const Location& where, std::string message);
  /// Records an error and gives up the present construct.
  [[noreturn]] void fail(const Token& token, std::string message);
  /// "unexpected X, expected `expected`, e.g. `example`"
  [[noreturn]] void unexpected(std::string_view expected, std::string_view example);
  /// "unknown WHAT 'NAME', did you mean ...; expected one of ..."
  [[noreturn]] void unknown(const Token& token, std::string_view what,
                            const std::vector<std::string>& known);

  /// Skips to a token that begins a line and satisfies `is_start` (or the end).
  void recover(const std::function<bool(const Token&)>& is_start);

  std::string_view text_between(size_t begin, size_t end) const {
    return std::string_view(source_.text).substr(begin, end - begin);
  }
  /// End offset of the token taken last.
  size_t last_end() const { return position_ == 0 ? 0 : tokens_[position_ - 1].end; }
  const SourceText& source() const { return source_; }
  /// Runs a parser of a sub-text (a format, a source) that begins at `first`; errors get its place.
  template <typename Parse>
  auto parse_part(const Token& first, Parse&& parse);

 private:
  bool too_many() const;

  const SourceText& source_;
  std::vector<Diagnostic>& errors_;
  std::vector<Token> tokens_;
  size_t position_ = 0;
};

/// More errors than these are not collected.
inline constexpr size_t kMaxErrors = 50;

/// "'x' (did you mean 'y'?)": the suggestion part, or empty.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

template <typename Parse>
auto Cursor::parse_part(const Token& first, Parse&& parse) {
  try {
    return parse(text_between(first.begin, last_end()));
  } catch (const Error& wrong) {
    Location where = location(first);
    const int column = wrong.diagnostics().empty() ? 0 : wrong.diagnostics()[0].where.column;
    if (column > 0) where.column += column - 1;
    if (column <= 0) where.length = static_cast<int>(last_end() - first.begin);
    error(where, wrong.what());
    throw Failure{};
  }
}

}  // namespace fuseflow::ir
