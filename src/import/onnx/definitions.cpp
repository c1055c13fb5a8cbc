// Reads the table of definitions, once.
#include "import/onnx/definitions.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "support/defect.h"
#include "support/error.h"

namespace fuseflow {

namespace {

constexpr int kAny = std::numeric_limits<int>::max();

[[noreturn]] void malformed(std::string_view row) {
  throw Defect("the table of ONNX's operators: '" + std::string(row) + "'");
}

/// Takes the next word off the front of `text`; empty at its end.
std::string_view next_word(std::string_view& text) {
  const size_t begin = std::min(text.find_first_not_of(" \n"), text.size());
  text.remove_prefix(begin);
  const std::string_view word = text.substr(0, std::min(text.find_first_of(" \n"), text.size()));
  text.remove_prefix(word.size());
  return word;
}

int number_of(std::string_view digits, std::string_view row) {
  int number = 0;
  for (const char c : digits) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) malformed(row);
    number = 10 * number + (c - '0');
  }
  return number;
}

/// Whether `word` ends with `mark`, which is then taken off.
bool take_mark(std::string_view& word, char mark) {
  if (!word.ends_with(mark)) return false;
  word.remove_suffix(1);
  return true;
}

OnnxAttribute::Kind kind_of(char letter) {
  using K = OnnxAttribute::Kind;
  switch (letter) {
    case 'i':
      return K::integer;
    case 'f':
      return K::real;
    case 's':
      return K::string;
    case 'I':
      return K::integers;
    case 'F':
      return K::reals;
    case 'S':
      return K::strings;
    case 't':
      return K::tensor;
    case 'p':
      return K::sparse;
    case 'g':
      return K::graph;
    default:
      return K::other;
  }
}

/// Reads one row, word by word.
class Row {
 public:
  explicit Row(std::string_view row) : row_(row), rest_(row) {}

  OperatorDefinition read() {
    OperatorDefinition d;
    next_word(rest_);  // the operator
    d.since = number_of(next_word(rest_), row_);
    read_parameters("->", d.inputs, d.least_inputs);
    read_parameters("|", d.outputs, d.least_outputs);
    if (mark_ == "|") read_attributes(d.attributes);
    read_types(d);
    return d;
  }

 private:
  /// The name before the colon and what stands after it.
  std::pair<std::string_view, std::string_view> halves(std::string_view word) const {
    const size_t colon = word.find_first_of(":=");
    if (colon == std::string_view::npos) malformed(row_);
    return {word.substr(0, colon), word.substr(colon + 1)};
  }

  void read_parameters(std::string_view end, std::vector<Parameter>& parameters, int& least) {
    using Count = Parameter::Count;
    int stated = -1;
    for (;;) {
      std::string_view word = next_word(rest_);
      if (word.empty() || word == end || word == ";") {
        mark_ = word;
        break;
      }
      if (word.ends_with("+")) {
        stated = number_of(word.substr(0, word.size() - 1), row_);
        continue;
      }
      Parameter p;
      if (take_mark(word, '?')) p.count = Count::at_most_one;
      if (take_mark(word, '*')) p.count = Count::any;
      if (take_mark(word, '~')) p.count = Count::any, p.one_type = false;
      std::tie(p.name, p.type) = halves(word);
      p.booleans = p.type == "bool" || p.type == "any";
      p.integers = p.type.find("int") != std::string_view::npos || p.type == "any";
      p.floats = !p.booleans && !p.integers;
      parameters.push_back(p);
      if (p.count == Count::one) least = static_cast<int>(parameters.size());
    }
    if (stated >= 0) least = stated;
  }

  void read_attributes(std::vector<AttributeRule>& attributes) {
    for (;;) {
      std::string_view word = next_word(rest_);
      if (word.empty() || word == ";") return;
      const bool required = take_mark(word, '!');
      const auto [name, kind] = halves(word);
      attributes.push_back({name, kind_of(kind[0]), required});
    }
  }

  void read_types(OperatorDefinition& d) {
    for (std::string_view word = next_word(rest_); !word.empty(); word = next_word(rest_)) {
      const auto [variable, classes] = halves(word);
      for (auto* parameters : {&d.inputs, &d.outputs}) {
        for (Parameter& p : *parameters) {
          if (p.type != variable) continue;
          p.booleans = classes.find('b') != std::string_view::npos;
          p.integers = classes.find('i') != std::string_view::npos;
          p.floats = classes.find('f') != std::string_view::npos;
        }
      }
    }
  }

  std::string_view row_, rest_;
  std::string_view mark_;  ///< what ended the last list
};

using Table = std::map<std::string_view, std::vector<OperatorDefinition>>;

void read_rows(std::string_view text, Table& table) {
  while (!text.empty()) {
    size_t end = 0;  // of the row: the first line that does not begin with a blank
    do {
      end = std::min(text.find('\n', end), text.size());
      if (end < text.size()) ++end;
    } while (end < text.size() && text[end] == ' ');
    const std::string_view row = text.substr(0, end);
    text.remove_prefix(end);
    std::string_view words = row;
    const std::string_view op = next_word(words);
    if (!op.empty()) table[op].push_back(Row(row).read());
  }
}

Table read_table() {
  Table table;
  read_rows(definition_text(), table);
  read_rows(microsoft_definition_text(), table);
  return table;
}

const Table& table() {
  static const Table instance = read_table();
  return instance;
}

int most_of(const std::vector<Parameter>& parameters) {
  const bool any = !parameters.empty() && parameters.back().count == Parameter::Count::any;
  return any ? kAny : static_cast<int>(parameters.size());
}

}  // namespace

int OperatorDefinition::most_inputs() const {
  return most_of(inputs);
}

int OperatorDefinition::most_outputs() const {
  return most_of(outputs);
}

const AttributeRule* OperatorDefinition::attribute(std::string_view name) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const AttributeRule& a) { return a.name == name; });
  return found == attributes.end() ? nullptr : &*found;
}

const std::vector<OperatorDefinition>& definitions_of(std::string_view op) {
  static const std::vector<OperatorDefinition> none;
  const auto found = table().find(op);
  return found == table().end() ? none : found->second;
}

const OperatorDefinition* definition_at(std::string_view op, int opset) {
  const OperatorDefinition* newest = nullptr;
  for (const OperatorDefinition& d : definitions_of(op)) {
    if (d.since <= opset) newest = &d;
  }
  return newest;
}

std::vector<std::string> defined_operators() {
  std::vector<std::string> names;
  for (const auto& [name, definitions] : table()) names.emplace_back(name);
  return names;
}

}  // namespace fuseflow
