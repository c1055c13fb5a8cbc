// A node as other nodes: what ONNX, or the maker of a domain, defines an operator to be. The
// conversion of the operator writes the body with what it knows of the node (shapes, attributes,
// constants), and the import goes on with it as with the body of a function of the model.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "import/importer.h"

namespace fuseflow {

class Expansion {
 public:
  using Value = std::string;  ///< the name of a value
  using Attributes = std::map<std::string, OnnxAttribute>;

  explicit Expansion(NodeImport& node) : node_(node) {}

  /// Input i of the node; rejects the node if it is missing.
  Value input(int i) const;
  /// The element type of the node's input i, which numbers of the body mostly share.
  ElementType type(int i) const { return node_.input(i).type; }

  /// Appends a node of ONNX's newest opset with one result, and gives the result's name.
  Value add(const std::string& op, std::vector<Value> inputs, Attributes attributes = {});
  /// Adds a node with `count` results.
  std::vector<Value> add_several(const std::string& op, std::vector<Value> inputs, int count,
                                 Attributes attributes = {});

  /// A constant of the body.
  Value constant(ConstantPtr data);
  Value number(float value, ElementType type);
  Value integers(std::vector<int64_t> values);  ///< a list: a shape, axes, places

  // Common nodes, by what they do. Axes count from 0.
  Value reshape(const Value& x, std::vector<int64_t> shape);
  Value transpose(const Value& x, const std::vector<int64_t>& order);
  Value slice(const Value& x, int64_t axis, int64_t start, int64_t end, int64_t step = 1);
  Value concat(std::vector<Value> parts, int64_t axis);
  Value reduce(const std::string& op, const Value& x, std::vector<int64_t> axes);  ///< keeps them
  Value cast(const Value& x, ElementType type);

  /// Output i of the node is `value`; nothing if the node does not have the output.
  void result(int i, const Value& value);
  enum class Kernels { by_node, one };
  /// The body is written: its nodes are converted next, each as a kernel or all as one.
  void finish(Kernels kernels = Kernels::by_node);

 private:
  Value fresh(const std::string& what);

  NodeImport& node_;
  OnnxGraph graph_;
  std::vector<std::string> outputs_;  ///< of the node, that the results of graph_ are
  int count_ = 0;
};

using BodyValue = Expansion::Value;

OnnxAttribute integer_attribute(int64_t value);
OnnxAttribute integers_attribute(std::vector<int64_t> values);
OnnxAttribute real_attribute(float value);
OnnxAttribute text_attribute(std::string value);

/// ONNX's number of an element type.
int64_t onnx_code(ElementType type);

}  // namespace fuseflow
