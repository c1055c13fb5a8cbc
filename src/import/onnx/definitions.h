// What ONNX's standard says that a node of an operator may have: its inputs, outputs and
// attributes, for every opset. One table (definition_text.cpp) is the only place that says so.
//
// A row of the table is "OPERATOR SINCE INPUTS -> OUTPUTS | ATTRIBUTES ; TYPES", where lines that
// begin with a blank go on with the row above:
// - a parameter is NAME:TYPE, with `?` if it may be absent, `*` for any number of one type, `~` for
//   any number of any types; "2+" before the parameters: at least so many are needed;
// - an attribute is NAME:KIND, with `!` if a node must have it (i integer, f real, s string, t
//   tensor, p sparse tensor, g graph, y type; I, F, S, T, G, Y lists of them);
// - a type is VARIABLE=CLASSES: b with booleans, i with integers, f with floating-point numbers, o
//   with other values only. A TYPE that is no variable is an element type of ONNX.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "import/onnx/model.h"

namespace fuseflow {

/// The newest opset whose definitions the table has.
inline constexpr int kNewestOpset = 28;

/// An input or output of an operator.
struct Parameter {
  enum class Count { one, at_most_one, any };
  std::string_view name;
  std::string_view type;  ///< the type variable, or an element type of ONNX ("int64")
  Count count = Count::one;
  bool one_type = true;  ///< all values of a parameter of any number have one type
  bool booleans = false, integers = false;  ///< among the types that it takes
  bool floats = false;
};

struct AttributeRule {
  std::string_view name;
  OnnxAttribute::Kind kind = OnnxAttribute::Kind::other;
  bool required = false;
};

/// What nodes of an operator may have, from opset `since` on to that of the next definition.
struct OperatorDefinition {
  int since = 0;
  std::vector<Parameter> inputs, outputs;
  int least_inputs = 0, least_outputs = 0;
  std::vector<AttributeRule> attributes;

  int most_inputs() const;   ///< INT_MAX: any number
  int most_outputs() const;  ///< INT_MAX: any number
  const AttributeRule* attribute(std::string_view name) const;
};

/// The definitions of an operator (OnnxNode::full_name), oldest first; empty if it has none.
const std::vector<OperatorDefinition>& definitions_of(std::string_view op);
/// The one that a node of `opset` is read by; null if the operator came later, or is none.
const OperatorDefinition* definition_at(std::string_view op, int opset);
/// The names of all operators, sorted.
std::vector<std::string> defined_operators();

/// The tables as they are written: of ONNX's own domain, and of com.microsoft, whose operators have
/// their domain in front.
std::string_view definition_text();
std::string_view microsoft_definition_text();

}  // namespace fuseflow
