// What every part of the parser shares: the current token, expectations, collected errors, numbers
// with overflow checks, and recovery. Internal to the parser (parse*.cpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/lexer.h"
#include "support/error.h"
#include "support/io.h"
#include "support/suggest.h"

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
  /// unexpected() for what is missing after the token taken last, where a line ends there: the end
  /// of that line is the place, not the next line.
  [[noreturn]] void missing(std::string_view expected, std::string_view example);
  /// "unknown WHAT 'NAME', did you mean ...; expected one of ..."
  [[noreturn]] void unknown(const Token& token, std::string_view what,
                            const std::vector<std::string>& known,
                            std::span<const Foreign> foreign = {});
  /// `}` of a block that began when there were `errors_before` errors. One that lacks is not
  /// reported when there was an error inside: what was given up may have held it.
  void expect_block_end(size_t errors_before, std::string_view example);
  /// Errors so far, those that were not reported because of earlier ones included.
  size_t errors() const { return troubles_; }

  // After an error: what is given up is skipped, and names that it may have declared are lost. Uses
  // of a lost name are no errors of their own.

  /// Skips to the first token, from the current one on, that satisfies `is_start`, closes a block
  /// that was opened before, or is the end. Blocks that are opened in between are skipped whole.
  void recover(const std::function<bool(const Token&)>& is_start);
  /// Tokens taken so far: where what is given up begins.
  size_t mark() const { return position_; }
  const Token& token_at(size_t mark) const { return tokens_[std::min(mark, tokens_.size() - 1)]; }
  /// Names of this kind of token among those taken since `mark` are lost. Returns
  /// whether there were any.
  bool lose_names(size_t mark, TokenKind kind);
  void lose_name(TokenKind kind, const std::string& name) { lost_.emplace(kind, name); }
  void forget_lost(TokenKind kind) {
    std::erase_if(lost_, [&](const auto& name) { return name.first == kind; });
  }
  /// Any name of this kind may have been declared in what was given up.
  void lose_all(TokenKind kind) { all_lost_.insert(kind); }
  /// Throws Failure if `token` names something lost; call before an unknown name is reported.
  void give_up_if_lost(const Token& token) const;

  /// End offset of the token taken last.
  size_t last_end() const { return position_ == 0 ? 0 : tokens_[position_ - 1].end; }
  const SourceText& source() const { return source_; }
  /// Runs a parser of a sub-text (a format, a source) from `first` to the token taken last, on one
  /// line and without comments; errors get the place of the token that they are at.
  template <typename Parse>
  auto parse_part(const Token& first, Parse&& parse);

 private:
  const SourceText& source_;
  std::vector<Diagnostic>& errors_;
  std::vector<Token> tokens_;
  size_t position_ = 0;
  size_t troubles_ = 0;
  std::set<std::pair<TokenKind, std::string>> lost_;
  std::set<TokenKind> all_lost_;
};

/// "; did you mean %y?", of names with this sigil; empty where no name is near.
std::string did_you_mean_name(std::string_view name, const std::vector<std::string>& known,
                              std::string_view sigil);

template <typename Parse>
auto Cursor::parse_part(const Token& first, Parse&& parse) {
  std::string text(last_end() - first.begin, ' ');  // what is between tokens is blank
  size_t begin = position_;
  for (; begin > 0 && tokens_[begin - 1].begin >= first.begin; --begin) {
    const Token& token = tokens_[begin - 1];
    if (token.kind == TokenKind::invalid) throw Failure{};
    source_.text.copy(text.data() + (token.begin - first.begin), token.end - token.begin,
                      token.begin);
  }
  try {
    return parse(std::string_view(text));
  } catch (const Error& wrong) {
    Location where = location(first);
    const int column = wrong.diagnostics().empty() ? 0 : wrong.diagnostics()[0].where.column;
    if (column > 0) {
      const size_t at = first.begin + static_cast<size_t>(column) - 1;
      while (begin + 1 < position_ && tokens_[begin + 1].begin <= at) ++begin;
      where = location(tokens_[begin]);
      const auto inside = static_cast<int>(at - tokens_[begin].begin);
      const int length = wrong.diagnostics()[0].where.length;
      where.column += inside;
      where.length = length > 1 ? length : std::max(where.length - inside, 1);
    } else {
      where.length = static_cast<int>(text.size());
    }
    error(where, wrong.what());
    throw Failure{};
  }
}

}  // namespace fuseflow::ir
