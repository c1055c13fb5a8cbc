// Elementwise work of a tile's element as C++ text: statements that name values, and places of
// elements.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cuda/text.h"

namespace fuseflow::cuda {

/// Statements of a lambda that name the coordinates of dimensions, and end it with `otherwise`
/// where the tile or the dimension has no such element.
std::string coordinates_text(const Kernel& kernel, const std::vector<DimensionAt>& dims,
                             const std::string& otherwise, int indent);

/// Statements and an expression for the number of an element in its tensor. Where it has none: the
/// statements end the lambda with `otherwise`, or, where that is empty, the expression is -1.
struct PlaceText {
  std::string statements;
  std::string value;
};
PlaceText place_text(const Program& program, const Graph& graph, TensorId tensor,
                     const std::vector<TileSubscript>& subscripts, const std::string& prefix,
                     const std::string& otherwise, int indent);

/// Values of streams at one element. Coordinates (`at_m`, ..) and `params` are there already.
class WorkText {
 public:
  WorkText(const Program& program, const Graph& graph, const TensorNumbers& tensors, int indent)
      : program_(&program), graph_(&graph), tensors_(&tensors), indent_(indent) {}

  /// The value's name; what it needs is added to the statements. Throws Refused for what has no
  /// text.
  std::string value(StreamId stream);
  /// The statements since the last call.
  std::string take() { return std::exchange(text_, ""); }
  void name(StreamId stream, const std::string& as) { names_[stream] = as; }
  void indent(int spaces) { indent_ = spaces; }
  /// A statement that stores a value where a tile_store does; what it needs is added before it.
  std::string store(const Node& store, const std::string& value);

 private:
  void add(NodeId id);
  std::string read(StreamId stream, const Node& load);
  void define(StreamId stream, const std::string& value);

  const Program* program_;
  const Graph* graph_;
  const TensorNumbers* tensors_;
  int indent_;
  std::string text_;
  std::map<StreamId, std::string> names_;
};

}  // namespace fuseflow::cuda
