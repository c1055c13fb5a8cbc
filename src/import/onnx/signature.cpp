#include "import/onnx/signature.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <map>

#include "import/onnx/definitions.h"
#include "support/error.h"
#include "support/suggest.h"
#include "support/text.h"

namespace fuseflow {

namespace {

/// "2", "1 to 3", "at least 1".
std::string range_text(int least, int most) {
  if (least == most) return std::to_string(least);
  if (most == std::numeric_limits<int>::max()) return fmt::format("at least {}", least);
  return fmt::format("{} to {}", least, most);
}

std::string count_fault(const OnnxNode& node, const OperatorDefinition& definition) {
  const auto inputs = static_cast<int>(node.inputs.size());
  const auto outputs = static_cast<int>(node.outputs.size());
  if (inputs < definition.least_inputs || inputs > definition.most_inputs()) {
    return fmt::format("has {} inputs, expected {} in opset {}", inputs,
                       range_text(definition.least_inputs, definition.most_inputs()), node.opset);
  }
  if (outputs < definition.least_outputs || outputs > definition.most_outputs()) {
    return fmt::format("has {} outputs, expected {} in opset {}", outputs,
                       range_text(definition.least_outputs, definition.most_outputs()), node.opset);
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].empty() || i >= definition.inputs.size()) continue;
    const Parameter& parameter = definition.inputs[i];
    if (parameter.count == Parameter::Count::one)
      return fmt::format("input {} ('{}') is missing", i, parameter.name);
  }
  return {};
}

/// " (it has in opsets 1 to 12)" of an attribute of other opsets; empty if there are none.
std::string attribute_opsets(const std::string& op, const std::string& name) {
  const auto& all = definitions_of(op);
  for (size_t d = 0; d < all.size(); ++d) {
    if (all[d].attribute(name) == nullptr) continue;
    size_t last = d;
    while (last + 1 < all.size() && all[last + 1].attribute(name) != nullptr) ++last;
    if (last + 1 == all.size()) return fmt::format(" (it has since opset {})", all[d].since);
    return fmt::format(" (it has in opsets {} to {})", all[d].since, all[last + 1].since - 1);
  }
  return {};
}

const char* kind_name(OnnxAttribute::Kind kind) {
  using K = OnnxAttribute::Kind;
  switch (kind) {
    case K::integer:
      return "an integer";
    case K::real:
      return "a number with a fraction";
    case K::string:
      return "a string";
    case K::integers:
      return "a list of integers";
    case K::reals:
      return "a list of numbers with fractions";
    case K::strings:
      return "a list of strings";
    case K::tensor:
      return "a tensor";
    case K::sparse:
      return "a sparse tensor";
    case K::graph:
      return "a graph";
    case K::other:
      break;
  }
  return "of another kind";
}

bool fits(const OnnxAttribute& given, OnnxAttribute::Kind wanted) {
  using K = OnnxAttribute::Kind;
  return given.kind == wanted || wanted == K::other || given.kind == K::other;
}

std::string unknown_attribute(const OnnxNode& node, const OperatorDefinition& definition,
                              const std::string& name) {
  std::vector<std::string> known;
  for (const AttributeRule& rule : definition.attributes) known.emplace_back(rule.name);
  const std::string elsewhere = attribute_opsets(node.full_name(), name);
  const std::string near = elsewhere.empty() ? meant_name(name, known) : std::string();
  return fmt::format("has no attribute '{}' in opset {}{}, expected {}{}", shown(name), node.opset,
                     elsewhere, known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")),
                     near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
}

std::string attribute_fault(const OnnxNode& node, const OperatorDefinition& definition) {
  for (const auto& [name, attribute] : node.attributes) {
    const AttributeRule* rule = definition.attribute(name);
    if (rule == nullptr) return unknown_attribute(node, definition, name);
    if (fits(attribute, rule->kind)) continue;
    return fmt::format("attribute '{}' is {}, expected {}", name, kind_name(attribute.kind),
                       kind_name(rule->kind));
  }
  for (const AttributeRule& rule : definition.attributes) {
    if (rule.required && !node.attributes.contains(std::string(rule.name)) &&
        rule.name != "consumed_inputs")
      return fmt::format("attribute '{}' is missing", rule.name);
  }
  return {};
}

/// The definition's parameter that input i is given for; null beyond its parameters.
const Parameter* input_parameter(const OperatorDefinition& definition, size_t i) {
  const auto& parameters = definition.inputs;
  if (i < parameters.size()) return &parameters[i];
  const bool any = !parameters.empty() && parameters.back().count == Parameter::Count::any;
  return any && parameters.back().one_type ? &parameters.back() : nullptr;
}

/// Integers where the operator knows floating-point numbers only, booleans where it knows numbers
/// only: its result would be of the type of its input, and so neither what a computed one holds nor
/// what a folded one does. Older definitions are read as the newest one, which lists more types:
/// the meaning is plain.
std::string class_fault(const OnnxNode& node,
                        const std::function<ElementType(const std::string&)>& type_of) {
  const OperatorDefinition& newest = definitions_of(node.full_name()).back();
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Parameter* parameter = input_parameter(newest, i);
    if (node.inputs[i].empty() || parameter == nullptr) continue;
    const ElementType given = type_of(node.inputs[i]);
    const bool boolean = given == ElementType::boolean;
    if (!is_integer(given) || parameter->booleans || (!boolean && parameter->integers)) continue;
    return fmt::format("input {} ('{}') has type {}, expected {}; put a Cast before it", i,
                       node.inputs[i], element_name(given),
                       parameter->integers ? "a type of numbers" : "a floating-point type");
  }
  return {};
}

std::string type_fault(const OnnxNode& node, const OperatorDefinition& definition,
                       const std::function<ElementType(const std::string&)>& type_of) {
  std::map<std::string_view, size_t> first;  // the input that fixed each type variable
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Parameter* parameter = input_parameter(definition, i);
    if (node.inputs[i].empty() || parameter == nullptr || !parameter->one_type) continue;
    const auto [at, fresh] = first.emplace(parameter->type, i);
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
  const OperatorDefinition* definition = definition_at(node.full_name(), node.opset);
  if (definition == nullptr) {
    return fmt::format("is an operator since opset {}, but the node was written for opset {}",
                       definitions_of(node.full_name()).front().since, node.opset);
  }
  std::string fault = count_fault(node, *definition);
  if (fault.empty()) fault = attribute_fault(node, *definition);
  if (fault.empty()) fault = type_fault(node, *definition, type_of);
  return fault.empty() ? class_fault(node, type_of) : fault;
}

}  // namespace fuseflow
