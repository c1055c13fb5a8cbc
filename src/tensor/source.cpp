// The text form of sources: printing and parsing.
#include "tensor/source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "support/error.h"
#include "support/text.h"
#include "tensor/generate.h"

namespace fuseflow {

FUSEFLOW_DEFINE_VALUE_TYPE(Source);

namespace {

constexpr std::string_view kExample =
    "for example file(\"a.mtx\"), onnx(\"m.onnx\", \"W\"), values(1,2) or "
    "uniform(shape=[8,8],density=0.1,seed=1)";

int hex_digit(char c) {
  const std::string_view digits = "0123456789abcdef";
  const size_t found = digits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
  return found == std::string_view::npos ? -1 : static_cast<int>(found);
}

/// Recursive descent over one source. Positions become columns of errors.
class SourceParser {
 public:
  explicit SourceParser(std::string_view text) : text_(text) {}

  Source parse() {
    Source source;
    const size_t begin = (skip_blanks(), at_);
    const std::string name = identifier();
    expect('(');
    if (name == "file") {
      source.kind = Source::Kind::file;
      source.path = string();
    } else if (name == "onnx") {
      source.kind = Source::Kind::onnx;
      source.path = string();
      expect(',');
      source.name = string();
    } else if (name == "values") {
      source.kind = Source::Kind::inline_values;
      inline_values(source);
    } else {
      source.kind = Source::Kind::generator;
      source.name = name;
      try {
        find_generator(name);
      } catch (const Error& error) {
        at_ = begin;
        fail(error.what());
      }
    }
    params(source);
    expect(')');
    skip_blanks();
    if (at_ != text_.size()) fail("text after the source");
    finish(source);
    return source;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    Diagnostic diagnostic;
    diagnostic.where.line = 1;
    diagnostic.where.column = static_cast<int>(at_) + 1;
    diagnostic.message = fmt::format("tensor source: {}; write {}", message, kExample);
    diagnostic.source_line = text_;
    throw Error(ExitCode::rejected, {diagnostic});
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n'))
      ++at_;
  }

  char peek() {
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  void expect(char c) {
    if (peek() != c) fail(fmt::format("expected '{}'", c));
    ++at_;
  }

  std::string identifier() {
    peek();
    const size_t begin = at_;
    const auto inside = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    while (at_ < text_.size() && inside(text_[at_])) ++at_;
    if (at_ == begin) fail("expected a name");
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string string() {
    if (peek() != '"') fail("expected a quoted string");
    ++at_;
    std::string result;
    for (;;) {
      if (at_ >= text_.size()) fail("a string without its closing quote");
      const char c = text_[at_++];
      if (c == '"') return result;
      if (c != '\\') {
        result += c;
        continue;
      }
      result += escape();
    }
  }

  /// After a backslash.
  char escape() {
    constexpr std::string_view kNames = "\"\\ntr";
    constexpr std::string_view kValues = "\"\\\n\t\r";
    const char kind = at_ < text_.size() ? text_[at_++] : '\0';
    if (kind == 'x' && at_ + 1 < text_.size()) {
      const int high = hex_digit(text_[at_]);
      const int low = hex_digit(text_[at_ + 1]);
      if (high >= 0 && low >= 0) {
        at_ += 2;
        return static_cast<char>(high * 16 + low);
      }
    }
    const size_t found = kind == '\0' ? std::string_view::npos : kNames.find(kind);
    if (found == std::string_view::npos) fail("unknown escape in a string");
    return kValues[found];
  }

  /// Whether the count of entries is next, which ends a list of values, also an empty one.
  bool is_count_next() { return peek() == 'n' && text_.substr(at_).starts_with("nnz"); }

  void inline_values(Source& source) {
    if (peek() == ')' || is_count_next()) return;
    for (;;) {
      peek();
      float value = 0;
      const char* begin = text_.data() + at_;
      const auto [end, status] = std::from_chars(begin, text_.data() + text_.size(), value);
      if (status != std::errc{}) fail("expected a number within the range of f32");
      at_ += static_cast<size_t>(end - begin);
      source.values.push_back(value);
      if (peek() != ',') return;
      const size_t comma = at_++;
      if (is_count_next()) {
        at_ = comma;
        return;
      }
    }
  }

  /// The text of a value up to the ',' or ')' that ends it, blanks removed; brackets nest.
  std::string value_text() {
    std::string result;
    std::string open;  // the brackets that are still open
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (open.empty() && (c == ',' || c == ')')) break;
      if (c == '(' || c == '[') open += c;
      if (c == ')' || c == ']') {
        if (open.empty() || open.back() != (c == ')' ? '(' : '[')) break;
        open.pop_back();
      }
      if (c != ' ' && c != '\t' && c != '\n') result += c;
    }
    const bool stray = at_ < text_.size() && text_[at_] == ']';
    if (!open.empty() || stray) fail("brackets that do not match");
    if (result.empty()) fail("expected a value");
    return result;
  }

  void params(Source& source) {
    bool first = source.kind == Source::Kind::generator ||
                 (source.kind == Source::Kind::inline_values && source.values.empty());
    while (peek() != ')') {
      if (!first) expect(',');
      first = false;
      std::string key = identifier();
      expect('=');
      const size_t begin = at_;
      if (source.kind == Source::Kind::onnx && key == "derived") {
        source.params.emplace_back(std::move(key), string());
        continue;
      }
      if (peek() == '"') {
        const std::string quoted = string();
        at_ = begin;
        fail(fmt::format("a value has no quotes, expected {}={}", key, quoted));
      }
      std::string value = value_text();
      if (key != "nnz") {
        source.params.emplace_back(std::move(key), std::move(value));
        continue;
      }
      int64_t count = -1;
      const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), count);
      if (source.nnz || status != std::errc{} || end != value.data() + value.size() || count < 0) {
        at_ = begin;
        fail("nnz expects one number from 0, once");
      }
      source.nnz = count;
    }
  }

  /// Checks the keys of the source and puts them in canonical order.
  void finish(Source& source) {
    static const GeneratorSpec kFileKeys{"file", {"from_shape", "levels", "values"}, true};
    static const GeneratorSpec kOnnxKeys{"onnx", {"derived"}, true};
    static const GeneratorSpec kNoKeys{"this source", {}, true};
    const GeneratorSpec* spec = &kNoKeys;
    if (source.kind == Source::Kind::generator) spec = &find_generator(source.name);
    if (source.kind == Source::Kind::file) spec = &kFileKeys;
    const bool derived = source.params.size() == 1 && source.params[0].first == "derived";
    if (source.kind == Source::Kind::onnx && derived) spec = &kOnnxKeys;
    if (spec == &kNoKeys && !source.params.empty()) {
      fail(fmt::format("unknown key '{}', expected none but nnz", source.params[0].first));
    }
    try {
      source.params = canonical_params(*spec, std::move(source.params));
    } catch (const Error& error) {
      fail(error.what());
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::string to_string(const Source& source) {
  std::vector<std::string> parts;
  std::string head;
  switch (source.kind) {
    case Source::Kind::none:
      return "";
    case Source::Kind::file:
      head = "file";
      parts.push_back(quoted_string(source.path));
      break;
    case Source::Kind::onnx:
      head = "onnx";
      parts.push_back(quoted_string(source.path));
      parts.push_back(quoted_string(source.name));
      break;
    case Source::Kind::inline_values:
      head = "values";
      for (const float v : source.values) parts.push_back(fmt::format("{}", v));
      break;
    case Source::Kind::generator:
      head = source.name;
      break;
  }
  const bool quote = source.kind == Source::Kind::onnx;
  for (const auto& [key, value] : source.params) {
    parts.push_back(fmt::format("{}={}", key, quote ? quoted_string(value) : value));
  }
  if (source.nnz) parts.push_back(fmt::format("nnz={}", *source.nnz));
  const bool spaced = source.kind == Source::Kind::onnx || source.kind == Source::Kind::file;
  return fmt::format("{}({})", head, fmt::join(parts, spaced ? ", " : ","));
}

Source parse_source(std::string_view text) {
  return SourceParser(text).parse();
}

Source parse_binding(std::string_view text) {
  // A source is a name and an opening bracket; anything else names a file.
  const size_t open = text.find('(');
  const size_t last = text.find_last_not_of(" \t\n");
  const bool source = open != std::string_view::npos && open > 0 && text[last] == ')' &&
                      text.substr(0, open).find_first_not_of(
                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ ") ==
                          std::string_view::npos;
  if (source) return parse_source(text);
  if (text.empty()) throw Error(ExitCode::rejected, "an empty tensor source, expected a file name");
  Source result;
  result.kind = Source::Kind::file;
  result.path = text;
  return result;
}

}  // namespace fuseflow
