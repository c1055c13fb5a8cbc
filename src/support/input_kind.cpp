#include "support/input_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

#include "support/text.h"

namespace fuseflow {
namespace {

constexpr size_t kLooked = 4096;  ///< bytes from which text is told apart

/// Up to the line's end.
std::string_view first_line(std::string_view text) {
  return text.substr(0, std::min(text.find('\n'), text.size()));
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

/// After blanks and lines that begin with `comment`.
std::string_view after_comments(std::string_view text, char comment) {
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (text.empty() || text[0] != comment) return text;
    text.remove_prefix(first_line(text).size());
  }
}

// --- ONNX: the outermost message of the protobuf

/// Reads a varint; false at the end of the bytes.
bool take_varint(std::string_view& bytes, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[0]);
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

/// Fields of a message of ONNX, as bits: those that are numbers, and those that have a length.
struct MessageFields {
  uint64_t numbers, lengths;
};
constexpr uint64_t field(int number) {
  return uint64_t{1} << number;
}
constexpr int kGraphOfModel = 7;
constexpr MessageFields kModelFields = {
    field(1) | field(5), field(2) | field(3) | field(4) | field(6) | field(kGraphOfModel) |
                             field(8) | field(14) | field(20) | field(25) | field(26)};
constexpr MessageFields kGraphFields = {0, field(1) | field(2) | field(5) | field(10) | field(11) |
                                               field(12) | field(13) | field(14) | field(15) |
                                               field(16)};

/// Goes through the fields of a message, which may be cut off in the last; false if one is none of
/// `fields`. `visit(number, body)` gets those with a length; it may say no, too.
template <typename Visit>
bool walk_message(std::string_view bytes, const MessageFields& fields, const Visit& visit) {
  while (!bytes.empty()) {
    uint64_t key = 0;
    uint64_t value = 0;
    if (!take_varint(bytes, key)) return bytes.empty();
    const uint64_t number = key >> 3;
    const uint64_t wire = key & 7;
    if (number == 0 || number > 63 || (wire != 0 && wire != 2)) return false;
    if (((wire == 0 ? fields.numbers : fields.lengths) >> number & 1) == 0) return false;
    if (!take_varint(bytes, value)) return bytes.empty();
    if (wire == 0) continue;
    const std::string_view body = bytes.substr(0, value);
    if (!visit(static_cast<int>(number), body)) return false;
    bytes.remove_prefix(body.size());
  }
  return true;
}

/// A ModelProto has a graph, and it and its graph have no other fields than those of ONNX. A file
/// that was cut off after the head of its graph still counts.
bool is_onnx(std::string_view bytes) {
  bool has_graph = false;
  const auto any = [](int, std::string_view) { return true; };
  const bool fits = walk_message(bytes, kModelFields, [&](int number, std::string_view body) {
    if (number != kGraphOfModel) return true;
    has_graph = true;
    return walk_message(body, kGraphFields, any);
  });
  return fits && has_graph;
}

// --- text

bool is_text(std::string_view bytes) {
  bytes = bytes.substr(0, kLooked);
  for (size_t at = 0; at < bytes.size();) {
    const size_t length = utf8_length(bytes, at);
    const bool cut = bytes.size() == kLooked && at + 4 > kLooked;
    if (length == 0) return cut;
    if (is_control(bytes, at, length) && std::isspace(static_cast<unsigned char>(bytes[at])) == 0) {
      return false;
    }
    at += length;
  }
  return true;
}

/// Nothing but numbers, and so many of them; `separator` between them besides blanks.
bool has_numbers(std::string_view line, char separator, size_t least, size_t most) {
  size_t count = 0;
  bool inside = false;
  for (const char c : line) {
    if (c == ' ' || c == '\t' || c == '\r' || c == separator) {
      inside = false;
      continue;
    }
    if (std::string_view("0123456789+-.eE").find(c) == std::string_view::npos) return false;
    if (!inside) ++count;
    inside = true;
  }
  return count >= least && count <= most;
}

bool is_tensor_text(std::string_view text) {
  if (text.starts_with("%%MatrixMarket")) return true;
  const std::string_view line = first_line(after_comments(text, '#'));
  return has_numbers(line, ',', 3, 3) || has_numbers(line, ' ', 2, 9);
}

bool is_report(std::string_view text) {
  const std::string_view line = first_line(text);
  if (line.find(',') == std::string_view::npos) return false;
  constexpr std::array<std::string_view, 4> kFirst = {"schema,", "region,", "rule,", "rank,"};
  return std::any_of(kFirst.begin(), kFirst.end(),
                     [&](std::string_view first) { return line.starts_with(first); });
}

/// `name = ..`, another key of a machine (words joined by _ and .), or the heading of a table.
bool is_machine(std::string_view text) {
  const std::string_view line = trimmed(first_line(after_comments(text, '#')));
  if (line.size() > 2 && line.front() == '[' && line.back() == ']') return true;
  const std::string_view key = trimmed(line.substr(0, std::min(line.find('='), line.size())));
  if (key.size() == line.size()) return false;
  constexpr std::string_view kInKeys = "abcdefghijklmnopqrstuvwxyz0123456789_.";
  const bool joined = key.find_first_of("_.") != std::string_view::npos;
  return key == "name" || (joined && key.find_first_not_of(kInKeys) == std::string_view::npos);
}

/// After blanks and comments of Graphviz.
std::string_view after_graphviz_comments(std::string_view text) {
  for (;;) {
    text = after_comments(text, '#');
    if (text.starts_with("//")) {
      text.remove_prefix(first_line(text).size());
    } else if (text.starts_with("/*")) {
      text.remove_prefix(std::min(text.find("*/", 2), text.size() - 2) + 2);
    } else {
      return text;
    }
  }
}

/// Its keywords are of either case. What follows may have any bytes in names.
bool is_graphviz(std::string_view bytes) {
  constexpr std::string_view kStrict = "strict", kGraph = "digraph";
  std::string_view text = after_graphviz_comments(bytes);
  if (in_lower_case(text.substr(0, kStrict.size())) == kStrict) {
    text = after_graphviz_comments(text.substr(kStrict.size()));
  }
  return in_lower_case(text.substr(0, kGraph.size())) == kGraph;
}

/// Its aliases begin with #, as comments of ours do.
bool is_mlir(std::string_view text) {
  text = trimmed(text);
  while (text.starts_with("//")) text = trimmed(text.substr(first_line(text).size()));
  constexpr std::array<std::string_view, 4> kFirst = {"module", "builtin.module", "func.func",
                                                      "\"builtin.module\""};
  if (std::any_of(kFirst.begin(), kFirst.end(),
                  [&](std::string_view first) { return text.starts_with(first); })) {
    return true;
  }
  if (!text.starts_with("#")) return false;
  const std::string_view line = first_line(text);
  return line.find("affine_map<") != std::string_view::npos ||
         line.find("#sparse_tensor.") != std::string_view::npos;
}

InputKind kind_of_text(std::string_view text) {
  if (is_mlir(text)) return InputKind::mlir;
  const std::string_view begin = after_comments(text, '#');
  if (is_report(begin)) return InputKind::report;
  if (is_machine(text)) return InputKind::machine;
  if (is_tensor_text(text)) return InputKind::tensor;
  if (begin.starts_with("{")) return InputKind::trace;
  return InputKind::text;
}

/// A zip archive, by the name of its first file.
InputKind kind_of_zip(std::string_view bytes) {
  constexpr size_t kNameAt = 30;
  if (bytes.size() < kNameAt) return InputKind::archive;
  const size_t length =
      static_cast<unsigned char>(bytes[26]) + size_t{256} * static_cast<unsigned char>(bytes[27]);
  const std::string_view name = bytes.substr(kNameAt, length);
  if (name.ends_with(".npy")) return InputKind::tensor;
  return name.ends_with("/data.pkl") ? InputKind::pytorch : InputKind::archive;
}

// --- messages

struct KindInfo {
  InputKind kind;
  std::string_view what;
  std::string_view taken_by;  ///< after "this is WHAT"
};

constexpr std::array<KindInfo, 11> kKinds = {{
    {InputKind::program, "a fuseflow program",
     "fuseflow-fuse, fuseflow-sim and the other tools take it"},
    {InputKind::onnx, "an ONNX model", "fuseflow-import makes a program of it"},
    {InputKind::mlir, "MLIR", "fuseflow-mlir makes a program of it"},
    {InputKind::tensor, "a tensor file",
     "`fuseflow-import MODEL --bind NAME=FILE` binds it, or a program names it: "
     "`input %x: .. = file(\"FILE\")`"},
    {InputKind::report, "a CSV report of a fuseflow tool", "tools take the program it is about"},
    {InputKind::machine, "a machine description", "`--machine FILE` takes it"},
    {InputKind::trace, "JSON, such as a trace", "ui.perfetto.dev shows traces"},
    {InputKind::drawing, "a drawing of fuseflow-dot", "`dot -Tsvg` takes it"},
    {InputKind::pytorch, "a PyTorch file", "export the model with torch.onnx.export first"},
    {InputKind::archive, "a compressed file or an archive",
     "unpack it first, or bind it as data where it is .mtx.gz or .npz (fuseflow-import --bind, "
     "file(..))"},
    {InputKind::binary, "binary data of no known kind", ""},
}};

/// "this is an ONNX model: fuseflow-import makes a program of it; expected .."
std::string message(InputKind kind, std::string_view expected) {
  const auto* const found = std::find_if(kKinds.begin(), kKinds.end(),
                                         [&](const KindInfo& info) { return info.kind == kind; });
  if (found == kKinds.end()) return {};
  const std::string by = found->taken_by.empty() ? "" : fmt::format(": {}", found->taken_by);
  return fmt::format("this is {}{}; expected {}", found->what, by, expected);
}

}  // namespace

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

InputKind kind_of(std::string_view bytes) {
  bytes = without_byte_order_mark(bytes);
  if (trimmed(bytes.substr(0, kLooked)).empty() && bytes.size() <= kLooked) return InputKind::empty;
  if (after_comments(bytes, '#').starts_with("fuseflow")) return InputKind::program;
  if (bytes.starts_with("\x93NUMPY")) return InputKind::tensor;
  if (bytes.starts_with("PK\x03\x04")) return kind_of_zip(bytes);
  if (bytes.starts_with("\x1f\x8b")) return InputKind::archive;
  if (is_onnx(bytes)) return InputKind::onnx;
  if (is_graphviz(bytes)) return InputKind::drawing;
  return is_text(bytes) ? kind_of_text(bytes) : InputKind::binary;
}

std::string why_no_program(const SourceText& source) {
  const InputKind kind = kind_of(source.text);
  if (kind == InputKind::program || kind == InputKind::text) return {};
  if (kind != InputKind::empty) return message(kind, "a program, which begins with `fuseflow 1`");
  if (source.name == "<stdin>") {
    return "standard input is empty, expected a program: did the tool before it fail?";
  }
  return "the file is empty, expected a program, which begins with `fuseflow 1`";
}

std::string why_no_model(std::string_view bytes) {
  const InputKind kind = kind_of(bytes);
  if (kind == InputKind::onnx) return {};
  if (kind == InputKind::empty) return "the file is empty, expected an ONNX model";
  if (kind == InputKind::text) return "this is some text, expected an ONNX model";
  return message(kind, "an ONNX model");
}

std::string why_no_table(std::string_view bytes, std::string_view expected) {
  const InputKind kind = kind_of(bytes);
  const bool text = kind == InputKind::text || kind == InputKind::empty;
  return kind == InputKind::report || text ? "" : message(kind, expected);
}

std::string why_no_machine(std::string_view bytes) {
  const InputKind kind = kind_of(bytes);
  if (kind == InputKind::machine || kind == InputKind::text || kind == InputKind::empty) return {};
  return message(kind, "a machine description (TOML; `fuseflow-sim --print-machine` prints one)");
}

}  // namespace fuseflow
