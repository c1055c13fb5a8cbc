#include "exchange/comal_file.h"

#include <fmt/format.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <climits>

#include "support/text.h"

namespace fuseflow {

namespace {

constexpr int kMaxDepth = 32;  ///< messages in each other; a graph has 6

/// Keeps the first error of the text parser as ours.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  explicit FirstError(Diagnostic& error) : error_(error) {}
  void AddError(int line, int column, const std::string& message) override {
    if (!error_.message.empty()) return;
    error_.where.line = line + 1;
    error_.where.column = column + 1;
    error_.message = printable(message);
  }
  void AddWarning(int, int, const std::string&) override {}

 private:
  Diagnostic& error_;
};

bool is_text(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) {
    return static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\t' || c == '\r';
  });
}

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

void check_utf8(const google::protobuf::Message& message);

void check_utf8_field(const google::protobuf::Message& message,
                      const google::protobuf::FieldDescriptor& field) {
  using Field = google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& values = *message.GetReflection();
  const int count = field.is_repeated() ? values.FieldSize(message, &field) : 1;
  for (int i = 0; i < count; ++i) {
    if (field.cpp_type() == Field::CPPTYPE_MESSAGE) {
      check_utf8(field.is_repeated() ? values.GetRepeatedMessage(message, &field, i)
                                     : values.GetMessage(message, &field));
    } else if (field.type() == Field::TYPE_STRING) {
      const std::string text = field.is_repeated() ? values.GetRepeatedString(message, &field, i)
                                                   : values.GetString(message, &field);
      if (is_utf8(text)) continue;
      throw Error(ExitCode::rejected,
                  fmt::format("the {} '{}' of a {} is not UTF-8, as a ComalGraph needs; rename it",
                              field.name(), printable(text), message.GetDescriptor()->name()));
    }
  }
}

void check_utf8(const google::protobuf::Message& message) {
  std::vector<const google::protobuf::FieldDescriptor*> set;
  message.GetReflection()->ListFields(message, &set);
  for (const auto* field : set) check_utf8_field(message, *field);
}

}  // namespace

comal::ComalGraph parse_comal(std::string_view bytes, const std::string& path) {
  comal::ComalGraph graph;
  if (bytes.size() > INT_MAX) {
    throw Error(ExitCode::rejected, Location{path}, "a graph of more than 2 GiB");
  }
  if (!is_text(bytes)) {
    if (graph.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return graph;
    throw Error(ExitCode::rejected, Location{path},
                "no ComalGraph, expected its protobuf, as binary or text, or a Graphviz graph");
  }
  Diagnostic error;
  error.where.file = path;
  if (parse_message_text(bytes, graph, error)) return graph;
  throw Error(ExitCode::rejected, {error});
}

bool parse_message_text(std::string_view text, google::protobuf::Message& message,
                        Diagnostic& error) {
  FirstError first(error);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&first);
  parser.SetRecursionLimit(kMaxDepth);
  return parser.ParseFromString(std::string(text), &message);
}

std::string message_line(const google::protobuf::Message& message) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  std::string text;
  printer.PrintToString(message, &text);
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

std::string comal_binary(const comal::ComalGraph& graph) {
  check_utf8(graph);
  return graph.SerializeAsString();
}

std::string comal_text(const comal::ComalGraph& graph) {
  check_utf8(graph);
  std::string text;
  google::protobuf::TextFormat::PrintToString(graph, &text);
  return text;
}

}  // namespace fuseflow
