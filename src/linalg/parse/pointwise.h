// Operations that say each element of a tensor by its place: they are structured operations, with a
// loop for each dimension.
#pragma once

#include "linalg/parse/scope.h"

namespace fuseflow {

/// tensor.generate, splat, from_elements, pad, insert (of one element), insert_slice; arith and
/// math on tensors. Nothing for other operations.
std::optional<LinalgOp> read_pointwise(mlir::Operation& op, FunctionScope& scope);

/// Each element of `yes` where the scalar `condition` is not 0, else that of `no`.
LinalgOp read_choice(mlir::Operation& op, mlir::Type type, int32_t condition, mlir::Value yes,
                     mlir::Value no, FunctionScope& scope);

}  // namespace fuseflow
