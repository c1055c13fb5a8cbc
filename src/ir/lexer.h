// Tokens of the IR's text. The whole text is cut up once; errors of the lexer (a stray character,
// an open string) are collected, not thrown, so that the parser can report its own beside them.
// Each leaves a token of its own, at which the parser gives up what it reads without a second
// message.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/error.h"
#include "support/io.h"

namespace fuseflow::ir {

enum class TokenKind : uint8_t {
  identifier,  ///< keyword, index, attribute: relu, sum, i
  string,      ///< "..."
  number,      ///< 12, 0.5, 1e-5 (no sign)
  tensor,      ///< %name or %"name"
  stream,      ///< $name or $"name"
  region,      ///< @name or @"name"
  symbol,      ///< ( ) [ ] { } < > , ; : = + - * / ? @ == != <= >=
  invalid,     ///< an error of the lexer, reported already
  end,
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;  ///< the name without sigil and quotes, or the token as written
  bool quoted = false;
  bool first_on_line = false;
  int line = 1;
  int column = 1;
  size_t begin = 0;  ///< offsets in the text, sigil and quotes included
  size_t end = 0;

  bool is(std::string_view symbol_or_word) const {
    return (kind == TokenKind::symbol || (kind == TokenKind::identifier && !quoted)) &&
           text == symbol_or_word;
  }
};

/// The tokens of `source`, ending with one of kind `end`; they end early after kMaxErrors errors.
/// Appends to `errors`.
std::vector<Token> tokenize(const SourceText& source, std::vector<Diagnostic>& errors);

/// How a message calls a token: "'relu'", "tensor %x", "end of the file".
std::string describe(const Token& token);

}  // namespace fuseflow::ir
