#include "ir/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/foreign.h"
#include "support/diagnostics.h"
#include "support/source_lines.h"
#include "support/text.h"

namespace fuseflow::ir {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_start(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}
bool is_word(char c) {
  return is_start(c) || is_digit(c) || c == '.';
}

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

class Lexer {
 public:
  Lexer(const SourceText& source, std::vector<Diagnostic>& errors)
      : source_(source), text_(source.text), errors_(errors) {}

  std::vector<Token> run() {
    for (;;) {
      skip_blanks();
      Token token;
      token.line = line_;
      token.column = column();
      token.begin = at_;
      token.first_on_line = line_ != last_token_line_;
      last_token_line_ = line_;
      if (at_ >= text_.size()) {
        token.end = at_;
        tokens_.push_back(std::move(token));
        return std::move(tokens_);
      }
      if (!read(token)) token.kind = TokenKind::invalid;
      if (errors_.size() >= kMaxErrors) at_ = text_.size();  // it is no text, or as good as none
      token.end = at_;
      tokens_.push_back(std::move(token));
    }
  }

 private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  int column() const { return static_cast<int>(at_ - line_begin_) + 1; }

  void newline() {
    ++line_;
    line_begin_ = at_;
  }

  void skip_blanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == '\n') {
        ++at_;
        newline();
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else {
        return;
      }
    }
  }

  void error(std::string message, int length = 1) {
    const Location where{source_.name, line_, column(), length};
    errors_.push_back(error_at(source_, where, std::move(message)));
  }

  void skip_line() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  bool read(Token& token) {
    const char c = peek();
    if (c == '%' || c == '$' || c == '@') return read_sigil(token, c);
    if (c == '"') {
      token.kind = TokenKind::string;
      token.quoted = true;
      return read_string(token.text);
    }
    if (is_start(c)) {
      token.kind = TokenKind::identifier;
      token.text = read_word();
      return !at_letter_beyond_ascii() || unquoted_name("", token.begin);
    }
    if (at_letter_beyond_ascii()) return unquoted_name("", token.begin);
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return read_number(token);
    return read_symbol(token);
  }

  std::string read_word() {
    const size_t begin = at_;
    while (is_word(peek())) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  bool read_sigil(Token& token, char sigil) {
    token.kind = sigil == '%'   ? TokenKind::tensor
                 : sigil == '$' ? TokenKind::stream
                                : TokenKind::region;
    if (peek(1) == '"') {
      ++at_;
      token.quoted = true;
      return read_string(token.text);
    }
    if (is_start(peek(1))) {
      ++at_;
      token.text = read_word();
      return !at_letter_beyond_ascii() || unquoted_name({&sigil, 1}, token.begin + 1);
    }
    ++at_;
    const bool name = is_word(peek()) || at_letter_beyond_ascii();
    if (name && (sigil != '@' || !is_digit(peek()))) {
      return unquoted_name({&sigil, 1}, token.begin + 1);
    }
    --at_;
    if (sigil == '@') return read_symbol(token);
    error(fmt::format("'{0}' without a name, expected a name such as {0}x or {0}\"layers.0/W\"{1}",
                      sigil, sigil == '%' ? "; a remainder is `mod(a, b)`" : ""));
    ++at_;
    if (static_cast<unsigned char>(peek()) > 0x7e) skip_line();  // bytes that are no text
    return false;
  }

  /// A name from `begin` on that lacks its quotes; `sigil` is what stands before it, if anything.
  bool unquoted_name(std::string_view sigil, size_t begin) {
    at_ = begin;
    while (is_word(peek()) || at_letter_beyond_ascii()) at_ += utf8_length(text_, at_);
    const std::string name(text_.substr(begin, at_ - begin));
    at_ = begin;
    const std::string tensor = sigil.empty() ? fmt::format(" (of a tensor: %\"{}\")", name) : "";
    error(fmt::format("a name that begins with a digit, or has letters beyond ASCII, is quoted, "
                      "expected {}\"{}\"{}",
                      sigil, name, tensor),
          static_cast<int>(name.size()));
    skip_line();
    return false;
  }

  /// At a character beyond ASCII that stands for none of the language's signs.
  bool at_letter_beyond_ascii() const {
    const size_t length = at_ < text_.size() ? utf8_length(text_, at_) : 0;
    return length > 1 && !is_control(text_, at_, length) &&
           ascii_for(text_.substr(at_, length)).empty();
  }

  /// At the opening quote. A string ends on its line.
  bool read_string(std::string& value) {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
      if (text_[at_] == '\\') {
        if (!read_escape(value)) return false;
      } else {
        value += text_[at_++];
      }
    }
    if (peek() != '"' || at_ >= text_.size()) {
      error("the string is not closed, expected '\"' before the end of the line");
      return false;
    }
    ++at_;
    return true;
  }

  bool read_escape(std::string& value) {
    const char kind = peek(1);
    if (kind == 'x' && hex_digit(peek(2)) >= 0 && hex_digit(peek(3)) >= 0) {
      value += static_cast<char>(hex_digit(peek(2)) * 16 + hex_digit(peek(3)));
      at_ += 4;
      return true;
    }
    constexpr std::string_view kNames = "\"\\ntr";
    constexpr std::string_view kValues = "\"\\\n\t\r";
    const size_t position = kind == '\0' ? std::string_view::npos : kNames.find(kind);
    if (position == std::string_view::npos) {
      error(R"(unknown escape in a string, expected \" \\ \n \t \r or \xHH)", 2);
      skip_line();  // the rest cannot be trusted
      return false;
    }
    value += kValues[position];
    at_ += 2;
    return true;
  }

  bool read_number(Token& token) {
    const size_t begin = at_;
    while (is_digit(peek())) ++at_;
    if (peek() == '.') {
      ++at_;
      while (is_digit(peek())) ++at_;
    }
    const size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
    if ((peek() == 'e' || peek() == 'E') && is_digit(peek(1 + sign))) {
      at_ += 1 + sign;
      while (is_digit(peek())) ++at_;
    }
    token.kind = TokenKind::number;
    token.text = std::string(text_.substr(begin, at_ - begin));
    return true;
  }

  bool read_symbol(Token& token) {
    constexpr std::string_view kPairs[] = {"==", "!=", "<=", ">="};
    constexpr std::string_view kSingles = "()[]{}<>,;:=+-*/?@";
    token.kind = TokenKind::symbol;
    const Foreign foreign = foreign_sign(text_.substr(at_, 2));
    if (foreign.there.size() == 2) return unexpected_sign(foreign);
    for (const std::string_view pair : kPairs) {
      if (text_.substr(at_, 2) == pair) {
        token.text = pair;
        at_ += 2;
        return true;
      }
    }
    const char c = peek();
    if (c != '\0' && kSingles.find(c) != std::string_view::npos) {
      token.text = std::string(1, c);
      ++at_;
      return true;
    }
    return foreign.there.empty() ? unexpected_character() : unexpected_sign(foreign);
  }

  bool unexpected_sign(const Foreign& sign) {
    error(fmt::format("unexpected '{}', {}", sign.there, sign.here),
          static_cast<int>(sign.there.size()));
    at_ += sign.there.size();
    const bool closed_later = sign.there[0] == '/' || sign.there == "'";  // a comment, a string
    if (closed_later) skip_line();
    return false;
  }

  bool unexpected_character() {
    const auto byte = static_cast<unsigned char>(peek());
    const size_t length = utf8_length(text_, at_);
    if (length > 1) return beyond_ascii(std::string(text_.substr(at_, length)));
    const bool shown = byte > 0x20 && byte < 0x7f;
    if (!shown) {
      error(
          fmt::format("unexpected byte 0x{:02x}, expected text; this is not an IR file, or a "
                      "name lacks its quotes",
                      byte));
    } else {
      error(
          fmt::format("unexpected character '{0}'; a name with other characters than letters, "
                      "digits, '_' and '.' is quoted: %\"a{0}b\"",
                      peek()));
    }
    ++at_;
    if (!shown) skip_line();  // one message a line
    return false;
  }

  /// A sign that looks like one of the language's, or one that no name begins with.
  bool beyond_ascii(const std::string& character) {
    const std::string_view instead = ascii_for(character);
    const auto length = static_cast<int>(character.size());
    if (instead.empty()) {
      error(fmt::format("unexpected character '{0}', expected text of the language; a name with "
                        "letters beyond ASCII is quoted: %\"{0}\"",
                        character),
            length);
    } else {
      error(fmt::format("unexpected character '{}', expected {}", character, instead), length);
    }
    skip_line();  // one message a line
    return false;
  }

  const SourceText& source_;
  std::string_view text_;
  std::vector<Diagnostic>& errors_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  size_t line_begin_ = 0;
  int line_ = 1;
  int last_token_line_ = 0;
};

}  // namespace

std::vector<Token> tokenize(const SourceText& source, std::vector<Diagnostic>& errors) {
  return Lexer(source, errors).run();
}

std::string describe(const Token& token) {
  std::string shown = token.text;
  if (shown.size() > 40) {
    size_t end = 37;
    while (end > 0 && (shown[end] & 0xc0) == 0x80) --end;  // not within a character
    shown = shown.substr(0, end) + "...";
  }
  switch (token.kind) {
    case TokenKind::end:
      return "end of the file";
    case TokenKind::string:
      return fmt::format("string \"{}\"", shown);
    case TokenKind::number:
      return fmt::format("number {}", shown);
    case TokenKind::tensor:
      return fmt::format("tensor %{}", shown);
    case TokenKind::stream:
      return fmt::format("stream ${}", shown);
    case TokenKind::region:
      return fmt::format("region @{}", shown);
    case TokenKind::identifier:
    case TokenKind::symbol:
    case TokenKind::invalid:
      break;
  }
  return fmt::format("'{}'", shown);
}

}  // namespace fuseflow::ir
