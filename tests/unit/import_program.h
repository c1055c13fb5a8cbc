// What tests of imports share: models from ONNX's text, programs of them, the values of result y.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "import/import.h"
#include "ir/set_types.h"
#include "ir/verify.h"
#include "onnx_text.h"
#include "reference/reference.h"
#include "support/io.h"

namespace fuseflow {

using Floats = std::vector<float>;

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// A model of opset 17; `graph`: "(inputs) => (outputs) { nodes }".
inline onnx::ModelProto model_of(const std::string& graph) {
  return onnx_of("<ir_version: 8, opset_import: [\"\" : 17]> g " + graph);
}

/// Imported from a file of this process, which the program reads its constants from: the next model
/// takes its place.
inline Program import_by_file(const onnx::ModelProto& model, const ImportOptions& options) {
  register_onnx_sources();
  const auto path = std::filesystem::temp_directory_path() /
                    ("fuseflow_import_" + std::to_string(getpid()) + ".onnx");
  write_output(path.string(), model.SerializeAsString());
  Program program = import_onnx(path.string(), options);
  verify(program);
  return program;
}

/// The values of a tensor by the reference, dense.
inline std::vector<float> values_of(const Program& program, const std::string& name) {
  std::vector<std::shared_ptr<const Storage>> inputs(program.tensors.size());
  for (size_t t = 0; t < inputs.size(); ++t) {
    const Tensor& each = program.tensors[t];
    if (each.source.kind == Source::Kind::none) continue;
    inputs[t] = std::make_shared<const Storage>(
        load(each.source, known_shape(each), each.format, each.fill, {.element = each.type}));
  }
  const Value v = evaluate(program, inputs)[static_cast<size_t>(find_tensor(program, name))];
  return v.dense ? *v.dense : to_dense(*v.sparse);
}

inline std::vector<float> result_of(const Program& program) {
  return values_of(program, "y");
}

}  // namespace fuseflow
