// One operation on tensors as plain data.
#pragma once

#include "linalg/parse/scope.h"

namespace fuseflow {

/// The operation, its results as new values of the function. Refuses what has no meaning here.
LinalgOp read_operation(mlir::Operation& op, FunctionScope& scope);

/// A scalar that the function returns, as an operation without loops.
LinalgOp read_scalar_result(mlir::Value value, mlir::Operation& user, FunctionScope& scope);

}  // namespace fuseflow
