// An ONNX model as plain data: what the rest of the importer sees. Only load.cpp knows protobuf.
// Model-local functions are inlined, initializers converted to the compute types, nodes sorted.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "import/values/constant_tensor.h"
#include "tensor/storage.h"

namespace fuseflow {

struct OnnxGraph;

struct OnnxAttribute {
  enum class Kind { integer, real, string, integers, reals, strings, tensor, sparse, graph, other };
  Kind kind = Kind::other;
  int64_t i = 0;
  float f = 0;
  std::string s;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string> strings;
  ConstantPtr tensor;
  std::shared_ptr<const OnnxGraph> graph;
};

struct OnnxNode {
  std::string name;  ///< never empty: the node's own, or "OP(first output)"
  std::string op;
  std::string domain;                ///< "" is the ONNX domain
  std::vector<std::string> inputs;   ///< "" where an optional input is absent
  std::vector<std::string> outputs;  ///< "" where nothing wants one (of loops: where nothing reads)
  std::vector<std::string> captured;  ///< values around it that its graphs use
  std::map<std::string, OnnxAttribute> attributes;
  int opset = 0;  ///< version of the ONNX domain that the node was written for

  /// The operator, with its domain in front ("com.microsoft.Gelu") unless that is ONNX's own.
  std::string full_name() const { return domain.empty() ? op : domain + "." + op; }
};

/// A dimension: a size, or a symbol (or nothing known: -1 and "").
struct OnnxDim {
  int64_t value = -1;
  std::string symbol;
};

struct OnnxPort {
  std::string name;
  ElementType type = ElementType::f32;
  std::optional<std::vector<OnnxDim>> shape;  ///< absent: unknown rank
  int code = 0;        ///< ONNX's number of the type where `type` only stores it, else 0
  bool typed = false;  ///< the model says the type
};

/// A graph inside of a node (a branch, the body of a loop). Its values have names of their own in
/// the whole model; what it uses beyond them is around the node. Its initializers are the model's.
struct OnnxGraph {
  std::vector<OnnxNode> nodes;  ///< producers before consumers
  std::vector<std::string> inputs, outputs;
  /// By output: what the graph declares it to be, where that is a tensor of numbers.
  std::vector<OnnxPort> declared;
};

struct OnnxModel {
  std::string path;
  std::string name;
  int opset = 0;
  std::vector<OnnxNode> nodes;   ///< producers before consumers
  std::vector<OnnxPort> inputs;  ///< without those that have an initializer
  std::vector<OnnxPort> outputs;
  std::map<std::string, ConstantPtr> initializers;  ///< dense and sparse ones, of all graphs
};

/// Reads a model. Nodes that no output depends on are left out. Throws Error(io) for files,
/// Error(rejected) for everything wrong in them: truncated or malformed protobuf, cycles, duplicate
/// definitions, sizes that lie, external data whose path escapes the model's folder, unknown
/// element types. Warns (report()) of an opset that is newer than the definitions and of constants
/// that lose precision. `follow_links`: external data may be links out of the model's folder.
OnnxModel load_onnx(const std::string& path, bool follow_links = false);

/// Parses a model from bytes; `path` names it in messages and is where external data is looked for.
OnnxModel parse_onnx(std::string_view bytes, const std::string& path, bool follow_links = false);

}  // namespace fuseflow
