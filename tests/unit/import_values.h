// What tests of operators share: the values of result y of a small model of any opset, by the
// reference.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "import_program.h"

namespace fuseflow {

using Binds = std::map<std::string, std::string>;

/// A model that may use operators of com.microsoft; `graph`: "(inputs) => (outputs) { nodes }".
inline onnx::ModelProto model_at(int opset, const std::string& graph) {
  return onnx_of("<ir_version: 10, opset_import: [\"\" : " + std::to_string(opset) +
                 ", \"com.microsoft\" : 1]> g " + graph);
}

inline Program imported_with(const onnx::ModelProto& model, const Binds& binds) {
  ImportOptions options;
  for (const auto& [name, text] : binds) options.bindings[name] = parse_binding(text);
  return import_by_file(model, options);
}

inline Floats values_at(int opset, const std::string& graph, const Binds& binds) {
  return result_of(imported_with(model_at(opset, graph), binds));
}

inline void expect_values(const Floats& actual, const Floats& expected, float tolerance = 1e-5F) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] != expected[i])
      EXPECT_NE(actual[i], actual[i]) << "element " << i;
    else
      EXPECT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
  }
}

/// What a model is refused with; "nothing" if it is not.
inline std::string fault_of(const onnx::ModelProto& model, const Binds& binds) {
  try {
    imported_with(model, binds);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

inline std::string fault_at(int opset, const std::string& graph, const Binds& binds) {
  return fault_of(model_at(opset, graph), binds);
}

inline void expect_refused(int opset, const std::string& graph, const Binds& binds,
                           const std::string& part) {
  const std::string told = fault_at(opset, graph, binds);
  EXPECT_NE(told.find(part), std::string::npos) << told;
}

}  // namespace fuseflow
