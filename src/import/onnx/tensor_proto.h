// ONNX TensorProto and SparseTensorProto to constant tensors, external data included. The only
// users are load.cpp and this file's implementation, because protobuf headers are slow to compile.
#pragma once

#include <memory>
#include <string>

#include "import/values/constant_tensor.h"

namespace fuseflow {

namespace onnx {
class TensorProto;
class SparseTensorProto;
}  // namespace onnx

/// What converting a tensor needs: where its file is, and what keeps the protobuf alive, so that
/// large f32 weights are viewed and not copied.
struct TensorContext {
  std::string model_path;
  std::shared_ptr<const void> keep_alive;
  bool follow_links = false;  ///< external data may be links that lead anywhere
};

/// The element type that stores ONNX data type `code`; throws Error(rejected) naming `what`.
ElementType element_type_of(int code, const std::string& what);
/// Whether that type has values that the data type does not have: those of 2, 4 and 16 bits, and
/// the small floating-point types that the language does not have.
bool is_stored_wider(int code);

ConstantPtr convert_tensor(const onnx::TensorProto& proto, const TensorContext& context);
ConstantPtr convert_sparse(const onnx::SparseTensorProto& proto, const TensorContext& context);

}  // namespace fuseflow
