#include "ir/lexer.h"

#include <fmt/format.h>

#include <algorithm>

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
        token.first_on_line = true;
        tokens_.push_back(std::move(token));
        return std::move(tokens_);
      }
      if (!read(token)) continue;
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
    errors_.push_back({Severity::error, where, std::move(message), line_of(text_, line_)});
  }

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
    error(fmt::format("'{0}' without a name, expected a name such as {0}x or {0}\"layers.0/W\"",
                      sigil));
    ++at_;
    return false;
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
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;  // the rest cannot be trusted
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
    const auto byte = static_cast<unsigned char>(c);
    const bool shown = byte > 0x20 && byte < 0x7f;
    error(shown
              ? fmt::format("unexpected character '{}'; a name with other characters than "
                            "letters, digits, '_' and '.' is quoted: %\"a{}b\"",
                            c, c)
              : fmt::format("unexpected byte 0x{:02x}, expected text; this is not an IR file, or a "
                            "name lacks its quotes",
                            byte));
    ++at_;
    // One message for a run of such bytes (a binary file).
    while (at_ < text_.size() && static_cast<unsigned char>(text_[at_]) > 0x7e) ++at_;
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
  const std::string shown = token.text.size() > 40 ? token.text.substr(0, 37) + "..." : token.text;
  switch (token.kind) {
    case TokenKind::end:
      return "the end of the file";
    case TokenKind::string:
      return fmt::format("the string \"{}\"", shown);
    case TokenKind::number:
      return fmt::format("the number {}", shown);
    case TokenKind::tensor:
      return fmt::format("the tensor %{}", shown);
    case TokenKind::stream:
      return fmt::format("the stream ${}", shown);
    case TokenKind::region:
      return fmt::format("the region @{}", shown);
    case TokenKind::identifier:
    case TokenKind::symbol:
      break;
  }
  return fmt::format("'{}'", shown);
}

std::string line_of(std::string_view text, int line) {
  size_t begin = 0;
  for (int current = 1; current < line; ++current) {
    const size_t next = text.find('\n', begin);
    if (next == std::string_view::npos) return {};
    begin = next + 1;
  }
  std::string result(text.substr(begin, text.find('\n', begin) - begin));
  if (!result.empty() && result.back() == '\r') result.pop_back();
  return result;
}

}  // namespace fuseflow::ir
