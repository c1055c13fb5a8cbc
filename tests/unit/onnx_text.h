// Models as text, for tests: ONNX's textual syntax as far as tests use it.
//
//   <ir_version: 8, opset_import: ["" : 17]>
//   name (float[2,N] x, int64 n) => (float[2,N] y) <float[2] w = {1, 2.5}> {
//     a, b = Split<axis = 1>(x)
//     y = my.f<alpha = 0.5>(a, w)
//   }
//   <domain: "my", opset_import: ["" : 17]>
//   f <alpha : float = 0.1> (u, v) => (r) { r = Elu<alpha : float = @alpha>(u) }
//
// A missing input is `""`; any name may stand in quotes; "my.f:o" calls overload o.
#pragma once

#include <cctype>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "import/onnx/onnx.pb.h"

namespace fuseflow {

class OnnxText {
 public:
  explicit OnnxText(std::string_view text) : text_(text) {}

  onnx::ModelProto model() {
    onnx::ModelProto model;
    if (peek("<")) read_header(model);
    read_graph(*model.mutable_graph());
    while (!at_end()) read_function(*model.add_functions());
    return model;
  }

 private:
  using Attribute = onnx::AttributeProto;

  [[noreturn]] void fail(const std::string& wanted) const {
    throw std::runtime_error("expected " + wanted + " at: " + std::string(text_.substr(at_, 40)));
  }
  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool at_end() {
    skip_blanks();
    return at_ == text_.size();
  }
  bool peek(std::string_view mark) {
    skip_blanks();
    return text_.substr(at_).starts_with(mark);
  }
  bool take(std::string_view mark) {
    if (!peek(mark)) return false;
    at_ += mark.size();
    return true;
  }
  void expect(std::string_view mark) {
    if (!take(mark)) fail("'" + std::string(mark) + "'");
  }

  static bool in_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' ||
           c == '+';
  }
  /// A name or number; empty if there is none.
  std::string word() {
    skip_blanks();
    const size_t begin = at_;
    while (at_ < text_.size() && in_word(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::string quoted() {
    expect("\"");
    const size_t end = text_.find('"', at_);
    if (end == std::string_view::npos) fail("the end of a string");
    std::string value(text_.substr(at_, end - at_));
    at_ = end + 1;
    return value;
  }
  std::string name() { return peek("\"") ? quoted() : word(); }

  template <typename Read>
  void list(std::string_view open, std::string_view close, const Read& read) {
    expect(open);
    while (!take(close)) {
      read();
      take(",");
    }
  }

  static int type_code(const std::string& type) {
    static const std::map<std::string, int> kCodes = {
        {"float", 1},   {"uint8", 2},   {"int8", 3},          {"uint16", 4},     {"int16", 5},
        {"int32", 6},   {"int64", 7},   {"string", 8},        {"bool", 9},       {"float16", 10},
        {"double", 11}, {"uint32", 12}, {"uint64", 13},       {"complex64", 14}, {"bfloat16", 16},
        {"int4", 22},   {"uint4", 21},  {"float8e4m3fn", 17}, {"float8e5m2", 19}};
    const auto found = kCodes.find(type);
    return found == kCodes.end() ? 0 : found->second;
  }
  int type() {
    const std::string text = word();
    if (type_code(text) == 0) fail("an element type, not '" + text + "'");
    return type_code(text);
  }

  void read_opsets(google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& sets) {
    list("[", "]", [&] {
      auto* set = sets.Add();
      set->set_domain(quoted());
      expect(":");
      set->set_version(std::stoll(word()));
    });
  }

  void read_header(onnx::ModelProto& model) {
    list("<", ">", [&] {
      const std::string key = word();
      expect(":");
      if (key == "opset_import")
        read_opsets(*model.mutable_opset_import());
      else
        model.set_ir_version(std::stoll(word()));
    });
  }

  void read_value(onnx::ValueInfoProto& value) {
    auto& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type());
    tensor.mutable_shape();
    if (peek("[")) {
      list("[", "]", [&] {
        auto& dim = *tensor.mutable_shape()->add_dim();
        if (take("?")) return;
        const std::string extent = word();
        if (std::isdigit(static_cast<unsigned char>(extent[0])) != 0)
          dim.set_dim_value(std::stoll(extent));
        else
          dim.set_dim_param(extent);
      });
    }
    value.set_name(name());
  }

  /// "{1, 2}" behind a type and extents.
  void read_elements(onnx::TensorProto& tensor) {
    list("{", "}", [&] {
      const std::string number = word();
      switch (tensor.data_type()) {
        case onnx::TensorProto::FLOAT:
          return tensor.add_float_data(std::strtof(number.c_str(), nullptr));
        case onnx::TensorProto::DOUBLE:
          return tensor.add_double_data(std::stod(number));
        case onnx::TensorProto::INT64:
          return tensor.add_int64_data(std::stoll(number));
        case onnx::TensorProto::UINT32:
        case onnx::TensorProto::UINT64:
          return tensor.add_uint64_data(std::stoull(number));
        default:
          return tensor.add_int32_data(std::stoi(number));
      }
    });
  }
  void read_type_and_extents(onnx::TensorProto& tensor) {
    tensor.set_data_type(type());
    if (peek("[")) list("[", "]", [&] { tensor.add_dims(std::stoll(word())); });
  }

  void read_graph(onnx::GraphProto& graph) {
    graph.set_name(word());
    list("(", ")", [&] { read_value(*graph.add_input()); });
    expect("=>");
    list("(", ")", [&] { read_value(*graph.add_output()); });
    if (peek("<")) {
      list("<", ">", [&] {
        auto& tensor = *graph.add_initializer();
        read_type_and_extents(tensor);
        tensor.set_name(name());
        expect("=");
        read_elements(tensor);
      });
    }
    expect("{");
    while (!take("}")) read_node(*graph.add_node());
  }

  static bool is_whole(const std::string& number) {
    return number.find_first_of(".eni") == std::string::npos;
  }

  void read_numbers(Attribute& attribute) {
    attribute.set_type(Attribute::INTS);
    std::vector<std::string> numbers;
    list("[", "]", [&] {
      if (peek("\""))
        attribute.add_strings(quoted());
      else
        numbers.push_back(word());
    });
    if (attribute.strings_size() > 0) attribute.set_type(Attribute::STRINGS);
    for (const std::string& n : numbers) {
      if (!is_whole(n)) attribute.set_type(Attribute::FLOATS);
    }
    for (const std::string& n : numbers) {
      if (attribute.type() == Attribute::FLOATS)
        attribute.add_floats(std::strtof(n.c_str(), nullptr));
      else
        attribute.add_ints(std::stoll(n));
    }
  }

  void read_attribute_value(Attribute& attribute) {
    if (take("@")) return attribute.set_ref_attr_name(word());
    if (peek("[")) return read_numbers(attribute);
    if (peek("\"")) {
      attribute.set_type(Attribute::STRING);
      return attribute.set_s(quoted());
    }
    const size_t begin = at_;
    const std::string text = word();
    if (type_code(text) != 0) {
      at_ = begin;
      attribute.set_type(Attribute::TENSOR);
      read_type_and_extents(*attribute.mutable_t());
      return read_elements(*attribute.mutable_t());
    }
    if (peek("(")) {
      at_ = begin;
      attribute.set_type(Attribute::GRAPH);
      return read_graph(*attribute.mutable_g());
    }
    attribute.set_type(is_whole(text) ? Attribute::INT : Attribute::FLOAT);
    if (is_whole(text))
      attribute.set_i(std::stoll(text));
    else
      attribute.set_f(std::strtof(text.c_str(), nullptr));
  }

  void read_attribute(Attribute& attribute) {
    static const std::map<std::string, Attribute::AttributeType> kTypes = {
        {"float", Attribute::FLOAT},   {"int", Attribute::INT},   {"string", Attribute::STRING},
        {"floats", Attribute::FLOATS}, {"ints", Attribute::INTS}, {"tensor", Attribute::TENSOR}};
    attribute.set_name(word());
    std::string stated;
    if (take(":")) stated = word();
    expect("=");
    read_attribute_value(attribute);
    if (const auto found = kTypes.find(stated); found != kTypes.end()) {
      if (found->second == Attribute::FLOAT && attribute.type() == Attribute::INT)
        attribute.set_f(static_cast<float>(attribute.i()));
      attribute.set_type(found->second);
    }
  }

  void read_attributes(onnx::NodeProto& node) {
    if (peek("<")) list("<", ">", [&] { read_attribute(*node.add_attribute()); });
  }

  void read_node(onnx::NodeProto& node) {
    do node.add_output(name());
    while (take(","));
    expect("=");
    const std::string op = word();
    const size_t dot = op.rfind('.');
    node.set_op_type(dot == std::string::npos ? op : op.substr(dot + 1));
    if (dot != std::string::npos) node.set_domain(op.substr(0, dot));
    if (take(":")) node.set_overload(word());
    read_attributes(node);
    list("(", ")", [&] { node.add_input(name()); });
    read_attributes(node);
    take(";");
  }

  void read_function(onnx::FunctionProto& function) {
    list("<", ">", [&] {
      const std::string key = word();
      expect(":");
      if (key == "opset_import")
        read_opsets(*function.mutable_opset_import());
      else if (key == "overload")
        function.set_overload(quoted());
      else
        function.set_domain(quoted());
    });
    function.set_name(word());
    if (peek("<")) {
      list("<", ">", [&] {
        const size_t begin = at_;
        const std::string key = word();
        if (!peek(":") && !peek("=")) return function.add_attribute(key);
        at_ = begin;
        read_attribute(*function.add_attribute_proto());
      });
    }
    list("(", ")", [&] { function.add_input(name()); });
    expect("=>");
    list("(", ")", [&] { function.add_output(name()); });
    expect("{");
    while (!take("}")) read_node(*function.add_node());
  }

  std::string_view text_;
  size_t at_ = 0;
};

/// The model that the text describes; throws std::runtime_error where it describes none.
inline onnx::ModelProto onnx_of(std::string_view text) {
  return OnnxText(text).model();
}

}  // namespace fuseflow
