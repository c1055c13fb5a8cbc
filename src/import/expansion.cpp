#include "import/expansion.h"

#include <fmt/format.h>

#include "import/onnx/definitions.h"

namespace fuseflow {

OnnxAttribute integer_attribute(int64_t value) {
  OnnxAttribute a;
  a.kind = OnnxAttribute::Kind::integer;
  a.i = value;
  return a;
}

OnnxAttribute integers_attribute(std::vector<int64_t> values) {
  OnnxAttribute a;
  a.kind = OnnxAttribute::Kind::integers;
  a.ints = std::move(values);
  return a;
}

OnnxAttribute real_attribute(float value) {
  OnnxAttribute a;
  a.kind = OnnxAttribute::Kind::real;
  a.f = value;
  return a;
}

OnnxAttribute text_attribute(std::string value) {
  OnnxAttribute a;
  a.kind = OnnxAttribute::Kind::string;
  a.s = std::move(value);
  return a;
}

int64_t onnx_code(ElementType type) {
  switch (type) {
    case ElementType::f32:
      return 1;
    case ElementType::u8:
      return 2;
    case ElementType::i8:
      return 3;
    case ElementType::u16:
      return 4;
    case ElementType::i16:
      return 5;
    case ElementType::i32:
      return 6;
    case ElementType::i64:
      return 7;
    case ElementType::boolean:
      return 9;
    case ElementType::f16:
      return 10;
    case ElementType::f64:
      return 11;
    case ElementType::bf16:
      return 16;
    case ElementType::f8e4m3:
      return 17;
    case ElementType::f8e5m2:
      return 19;
  }
  return 0;
}

Expansion::Value Expansion::input(int i) const {
  static_cast<void>(node_.input(i));
  return node_.onnx().inputs[static_cast<size_t>(i)];
}

Expansion::Value Expansion::fresh(const std::string& what) {
  std::string name;
  for (const std::string& output : node_.onnx().outputs) {
    if (name.empty()) name = output;
  }
  const std::string prefix = name + "/" + what + "_";
  do {
    name = prefix + std::to_string(count_++);
  } while (node_.importer().has_value(name));
  return name;
}

std::vector<Expansion::Value> Expansion::add_several(const std::string& op,
                                                     std::vector<Value> inputs, int count,
                                                     Attributes attributes) {
  OnnxNode node;
  node.op = op;
  node.opset = kNewestOpset;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  for (int i = 0; i < count; ++i) node.outputs.push_back(fresh(op));
  node.name = fmt::format("{}({})", op, node.outputs[0]);
  graph_.nodes.push_back(node);
  return node.outputs;
}

Expansion::Value Expansion::add(const std::string& op, std::vector<Value> inputs,
                                Attributes attributes) {
  return add_several(op, std::move(inputs), 1, std::move(attributes))[0];
}

Expansion::Value Expansion::constant(ConstantPtr data) {
  const Value name = fresh("Constant");
  Importer& importer = node_.importer();
  importer.set_value(name, importer.add_constant(name, std::move(data)));
  return name;
}

Expansion::Value Expansion::number(float value, ElementType type) {
  return constant(constant_values({value}, {}, type));
}

Expansion::Value Expansion::integers(std::vector<int64_t> values) {
  const auto count = static_cast<int64_t>(values.size());
  return constant(constant_ints(std::move(values), {count}));
}

Expansion::Value Expansion::reshape(const Value& x, std::vector<int64_t> shape) {
  return add("Reshape", {x, integers(std::move(shape))}, {{"allowzero", integer_attribute(1)}});
}

Expansion::Value Expansion::transpose(const Value& x, const std::vector<int64_t>& order) {
  return add("Transpose", {x}, {{"perm", integers_attribute(order)}});
}

Expansion::Value Expansion::slice(const Value& x, int64_t axis, int64_t start, int64_t end,
                                  int64_t step) {
  return add("Slice", {x, integers({start}), integers({end}), integers({axis}), integers({step})});
}

Expansion::Value Expansion::concat(std::vector<Value> parts, int64_t axis) {
  if (parts.size() == 1) return parts[0];
  return add("Concat", std::move(parts), {{"axis", integer_attribute(axis)}});
}

Expansion::Value Expansion::reduce(const std::string& op, const Value& x,
                                   std::vector<int64_t> axes) {
  return add(op, {x, integers(std::move(axes))});
}

Expansion::Value Expansion::cast(const Value& x, ElementType type) {
  return add("Cast", {x}, {{"to", integer_attribute(onnx_code(type))}});
}

void Expansion::result(int i, const Value& value) {
  if (!node_.has_output(i)) return;
  outputs_.push_back(node_.output_name(i));
  graph_.outputs.push_back(value);
}

void Expansion::finish(Kernels kernels) {
  node_.importer().go_on_with(graph_, outputs_, kernels == Kernels::one);
}

}  // namespace fuseflow
