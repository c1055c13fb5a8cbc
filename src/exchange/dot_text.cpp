#include "exchange/dot_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "support/error.h"
#include "support/input_kind.h"
#include "support/text.h"

namespace fuseflow {

namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-' || static_cast<unsigned char>(c) >= 0x80;
}

class DotParser {
 public:
  DotParser(std::string_view text, const std::string& path)
      : text_(without_byte_order_mark(text)), path_(path) {}

  DotGraph parse() {
    std::string word = in_lower_case(name("`digraph`"));
    if (word == "strict") word = in_lower_case(name("`digraph`"));
    if (word != "digraph") fail("expected `digraph`");
    if (peek() != '{') name("a name");
    expect('{');
    while (peek() != '}') statement();
    ++at_;
    if (peek() != '\0') fail("text after the graph");
    return std::move(graph_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw Error(ExitCode::rejected, Location{path_, line_, static_cast<int>(at_ - line_begin_) + 1},
                message);
  }

  void advance() {
    if (text_[at_] == '\n') {
      ++line_;
      line_begin_ = at_ + 1;
    }
    ++at_;
  }

  bool starts(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  void skip_comment() {
    if (!starts("/*")) {
      while (at_ < text_.size() && text_[at_] != '\n') advance();
      return;
    }
    while (at_ < text_.size() && !starts("*/")) advance();
    if (at_ == text_.size()) fail("a comment without its end");
    at_ += 2;
  }

  /// The next character that is no blank and in no comment; 0 at the end.
  char peek() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#' || starts("//") || starts("/*")) {
        skip_comment();
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        advance();
      } else {
        return c;
      }
    }
    return '\0';
  }

  void expect(char c) {
    if (peek() != c) fail(fmt::format("expected '{}'", c));
    ++at_;
  }

  std::string quoted() {
    std::string result;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; advance()) {
      if (const std::optional<char> byte = escaped_byte(text_, at_)) {
        result += *byte;
        at_ += 3;
        continue;
      }
      const bool escape = text_[at_] == '\\' && at_ + 1 < text_.size() &&
                          (text_[at_ + 1] == '"' || text_[at_ + 1] == '\\');
      if (escape) ++at_;
      result += text_[at_];
    }
    if (at_ == text_.size()) fail("a string without its closing quote");
    ++at_;
    return result;
  }

  std::string name(const char* what) {
    if (peek() == '"') return quoted();
    const size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_]) && !starts("->")) ++at_;
    if (at_ == begin) fail(fmt::format("expected {}", what));
    return std::string(text_.substr(begin, at_ - begin));
  }

  DotAttributes attributes() {
    DotAttributes found;
    while (peek() == '[') {
      ++at_;
      while (peek() != ']') {
        const std::string key = name("an attribute");
        expect('=');
        found[key] = name("a value");
        if (peek() == ',' || peek() == ';') ++at_;
      }
      ++at_;
    }
    return found;
  }

  void statement() {
    peek();
    const int line = line_;
    const std::string first = name("a node or '}'");
    const char next = peek();
    if (next == '=') {
      ++at_;
      graph_.attributes[first] = name("a value");
    } else if (starts("->")) {
      at_ += 2;
      const std::string to = name("a node");
      if (peek() != '\0' && starts("->")) fail("a chain of edges, expected one edge a statement");
      graph_.edges.push_back({first, to, attributes(), line});
    } else if (in_lower_case(first) == "subgraph" || starts("--")) {
      fail("expected nodes and edges `a -> b` of one graph");
    } else {
      DotAttributes given = attributes();
      const std::string word = in_lower_case(first);
      const bool defaults = word == "node" || word == "edge" || word == "graph";
      if (!defaults) graph_.nodes.push_back({first, std::move(given), line});
    }
    if (peek() == ';') ++at_;
  }

  std::string_view text_;
  const std::string& path_;
  size_t at_ = 0;
  size_t line_begin_ = 0;
  int line_ = 1;
  DotGraph graph_;
};

}  // namespace

DotGraph parse_dot(std::string_view text, const std::string& path) {
  return DotParser(text, path).parse();
}

std::string dot_quoted(std::string_view text) {
  std::string result = "\"";
  for (size_t at = 0; at < text.size();) {
    const size_t length = std::max<size_t>(utf8_length(text, at), 1);
    if (text[at] == '"' || text[at] == '\\') result += '\\';
    result += printable(text.substr(at, length));
    at += length;
  }
  return result + '"';
}

}  // namespace fuseflow
