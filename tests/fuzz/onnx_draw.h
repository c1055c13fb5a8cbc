// Draws an ONNX model from bytes, node by node: any operator of the importer's table, inputs and
// constants of every element type with ranks 0 to 5 and extents 0, 1, 2, 3 and 7, symbolic
// dimensions, attributes that are there, absent or of a wrong type, opsets 1 to 28.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "import/onnx/onnx.pb.h"

namespace fuseflow {

struct DrawnModel {
  onnx::ModelProto model;
  std::map<std::string, std::string> bindings;  ///< by input: the text of a source
  /// Floats are small numbers of type f32, so that results can be compared.
  bool tame = false;
};

/// Deterministic; bytes that are missing count as 0.
DrawnModel draw_model(std::string_view bytes);

/// The model with its inputs as initializers of these values, by name.
onnx::ModelProto with_constants(const onnx::ModelProto& model,
                                const std::map<std::string, onnx::TensorProto>& values);

}  // namespace fuseflow
