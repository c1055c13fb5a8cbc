#include "import/onnx/signature.h"

#include <fmt/format.h>
#include <onnx/defs/schema.h>

#include <limits>
#include <map>

namespace fuseflow {

namespace {

using Formal = onnx::OpSchema::FormalParameter;

/// "2", "1 to 3", "at least 1".
std::string range_text(int least, int most) {
  if (least == most) return std::to_string(least);
  if (most == std::numeric_limits<int>::max()) return fmt::format("at least {}", least);
  return fmt::format("{} to {}", least, most);
}

std::string count_fault(const OnnxNode& node, const onnx::OpSchema& schema) {
  const auto inputs = static_cast<int>(node.inputs.size());
  const auto outputs = static_cast<int>(node.outputs.size());
  if (inputs < schema.min_input() || inputs > schema.max_input()) {
    return fmt::format("has {} inputs, expected {}", inputs,
                       range_text(schema.min_input(), schema.max_input()));
  }
  if (outputs < schema.min_output() || outputs > schema.max_output()) {
    return fmt::format("has {} outputs, expected {}", outputs,
                       range_text(schema.min_output(), schema.max_output()));
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].empty() || i >= schema.inputs().size()) continue;
    const Formal& formal = schema.inputs()[i];
    if (formal.GetOption() == onnx::OpSchema::Single)
      return fmt::format("input {} ('{}') is missing", i, formal.GetName());
  }
  return {};
}

/// The kinds of values that a parameter takes, as far as they are distinguished here.
struct Classes {
  bool booleans = false, integers = false;
};

Classes classes_of(const Formal& formal) {
  Classes classes;
  for (const std::string* type : formal.GetTypes()) {
    classes.booleans = classes.booleans || type->find("bool") != std::string::npos;
    classes.integers = classes.integers || type->find("int") != std::string::npos;
  }
  return classes;
}

/// The definition's parameter that input i is given for; null beyond its parameters.
const Formal* formal_input(const onnx::OpSchema& schema, size_t i) {
  const auto& formals = schema.inputs();
  if (i < formals.size()) return &formals[i];
  const bool variadic = !formals.empty() && formals.back().GetOption() == onnx::OpSchema::Variadic;
  return variadic && formals.back().GetIsHomogeneous() ? &formals.back() : nullptr;
}

/// Integers where the operator knows floating-point numbers only, booleans where it knows numbers
/// only: its result would be of the type of its input, and so neither what a computed one holds nor
/// what a folded one does. Other operators take what their newest definition does not list, where
/// the meaning is plain.
std::string class_fault(const OnnxNode& node,
                        const std::function<ElementType(const std::string&)>& type_of) {
  const onnx::OpSchema* newest = onnx::OpSchemaRegistry::Schema(node.op, onnx::ONNX_DOMAIN);
  for (size_t i = 0; newest != nullptr && i < node.inputs.size(); ++i) {
    const Formal* formal = formal_input(*newest, i);
    if (node.inputs[i].empty() || formal == nullptr) continue;
    const ElementType given = type_of(node.inputs[i]);
    const Classes known = classes_of(*formal);
    const bool boolean = given == ElementType::boolean;
    if (!is_integer(given) || known.booleans || (!boolean && known.integers)) continue;
    return fmt::format("input {} ('{}') has type {}, expected {}; put a Cast before it", i,
                       node.inputs[i], element_name(given),
                       known.integers ? "a type of numbers" : "a floating-point type");
  }
  return {};
}

std::string type_fault(const OnnxNode& node, const onnx::OpSchema& schema,
                       const std::function<ElementType(const std::string&)>& type_of) {
  std::map<std::string, size_t> first;  // the input that fixed each type variable
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Formal* formal = formal_input(schema, i);
    if (node.inputs[i].empty() || formal == nullptr) continue;
    const auto [at, fresh] = first.emplace(formal->GetTypeStr(), i);
    const ElementType wanted = type_of(node.inputs[at->second]);
    const ElementType given = type_of(node.inputs[i]);
    if (fresh || wanted == given) continue;
    return fmt::format(
        "inputs {} ('{}') and {} ('{}') have types {} and {}, expected one type; put a Cast before "
        "one of them",
        at->second, node.inputs[at->second], i, node.inputs[i], element_name(wanted),
        element_name(given));
  }
  return {};
}

}  // namespace

std::string signature_fault(const OnnxNode& node,
                            const std::function<ElementType(const std::string&)>& type_of) {
  const onnx::OpSchema* schema =
      onnx::OpSchemaRegistry::Schema(node.op, node.opset, onnx::ONNX_DOMAIN);
  if (schema == nullptr) return {};
  const int newest =
      onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at(onnx::ONNX_DOMAIN).second;
  // What was added to an operator later is not in the newest definition that is known.
  std::string fault = node.opset <= newest ? count_fault(node, *schema) : std::string();
  if (fault.empty()) fault = type_fault(node, *schema, type_of);
  return fault.empty() ? class_fault(node, type_of) : fault;
}

}  // namespace fuseflow
