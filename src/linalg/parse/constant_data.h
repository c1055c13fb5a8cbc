// Constants that are tensors: numbers, lists of elements, entries, and blobs of bytes.
#pragma once

#include "linalg/parse/scope.h"

namespace fuseflow {

/// A constant whose elements differ has data of its own; of one number everywhere each element is
/// computed. Without data where the file leaves the elements out.
LinalgOp read_constant_tensor(mlir::arith::ConstantOp op, FunctionScope& scope);

}  // namespace fuseflow
