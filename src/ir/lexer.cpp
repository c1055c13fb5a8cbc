#include "ir/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "support/diagnostics.h"
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

/// What other languages write, and how it is written here.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kForeignPairs = {
    {{"//", "expected '#' before a comment"},
     {"/*", "expected '#' before a comment, on each of its lines"},
     {"**", "expected `pow(a, b)` for a power"},
     {"&&", "expected `and(a, b)`"},
     {"||", "expected `or(a, b)`"}}};

std::string_view advice_on(char c) {
  if (c == '^') return "expected `pow(a, b)` for a power";
  if (c == '&') return "expected `and(a, b)`";
  if (c == '|') return "expected `or(a, b)`";
  if (c == '!' || c == '~') return "expected `not(a)`";
  return "";
}

/// What is meant by a character that looks like one of the language, as editors and papers have it.
std::string_view ascii_for(std::string_view character) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 19> kLookalikes = {
      {{"\u2212", "'-'"},
       {"\u2013", "'-'"},
       {"\u2014", "'-'"},
       {"\u00d7", "'*'"},
       {"\u00b7", "'*'"},
       {"\u22c5", "'*'"},
       {"\u2217", "'*'"},
       {"\u00f7", "'/'"},
       {"\u2264", "'<='"},
       {"\u2265", "'>='"},
       {"\u2260", "'!='"},
       {"\u201c", "'\"'"},
       {"\u201d", "'\"'"},
       {"\u00a0", "a blank"},
       {"\u2211", "`sum(j) ...`"},
       {"\u221e", "`inf`"},
       {"\u221a", "`sqrt(a)`"},
       {"\u00b2", "`pow(a, 2)`"},
       {"\u00b3", "`pow(a, 3)`"}}};
  for (const auto& [lookalike, instead] : kLookalikes) {
    if (character == lookalike) return instead;
  }
  return "";
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
      return true;
    }
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
      return true;
    }
    if (sigil == '@') return read_symbol(token);
    ++at_;
    if (is_word(peek()) || utf8_length(text_, at_) > 1) return unquoted_name(sigil);
    --at_;
    error(fmt::format("'{0}' without a name, expected a name such as {0}x or {0}\"layers.0/W\"",
                      sigil));
    ++at_;
    if (static_cast<unsigned char>(peek()) > 0x7e) skip_line();  // bytes that are no text
    return false;
  }

  /// A name that lacks its quotes.
  bool unquoted_name(char sigil) {
    const size_t begin = at_;
    skip_name();
    const std::string name(text_.substr(begin, at_ - begin));
    at_ = begin;
    error(fmt::format("a name that begins with a digit, or has letters beyond ASCII, is quoted, "
                      "expected {}\"{}\"",
                      sigil, name),
          static_cast<int>(name.size()));
    skip_line();
    return false;
  }

  /// Letters, digits and what is beyond ASCII.
  void skip_name() {
    while (is_word(peek()) || utf8_length(text_, at_) > 1) at_ += utf8_length(text_, at_);
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
    for (const auto& [pair, advice] : kForeignPairs) {
      if (text_.substr(at_, 2) != pair) continue;
      error(fmt::format("unexpected '{}', {}", pair, advice), 2);
      at_ += 2;
      if (pair[0] == '/') skip_line();  // a comment
      return false;
    }
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
    return unexpected_character();
  }

  bool unexpected_character() {
    const auto byte = static_cast<unsigned char>(peek());
    const size_t length = utf8_length(text_, at_);
    if (length > 1) return beyond_ascii(std::string(text_.substr(at_, length)));
    const bool shown = byte > 0x20 && byte < 0x7f;
    const std::string_view advice = advice_on(peek());
    if (!shown) {
      error(
          fmt::format("unexpected byte 0x{:02x}, expected text; this is not an IR file, or a "
                      "name lacks its quotes",
                      byte));
    } else if (!advice.empty()) {
      error(fmt::format("unexpected character '{}', {}", peek(), advice));
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

  /// A sign that looks like one of the language's, or a letter of a name.
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

namespace {

/// Offset of line `line` (from 1); the text's size if there is none.
size_t line_begin(std::string_view text, int line) {
  size_t begin = 0;
  for (int current = 1; current < line && begin < text.size(); ++current) {
    begin = std::min(text.find('\n', begin), text.size() - 1) + 1;
  }
  return begin;
}

}  // namespace

Diagnostic error_at(const SourceText& source, const Location& where, std::string message) {
  constexpr size_t kAfterCaret = 1000;  // bytes after the caret: more than is shown
  std::string_view line = std::string_view(source.text).substr(line_begin(source.text, where.line));
  line = line.substr(0, line.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  const auto caret = static_cast<size_t>(std::max(0, where.column - 1));
  return {Severity::error, where, std::move(message),
          std::string(line.substr(0, caret + kAfterCaret))};
}

}  // namespace fuseflow::ir
