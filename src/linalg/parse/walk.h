// One walk over a function's operations: calls inlined, loops of known trip counts unrolled.
#pragma once

#include <functional>

#include "linalg/parse/scope.h"

namespace fuseflow {

/// The name of an SSA value in the file, without the %; empty if it has none there.
using ValueNames = std::function<std::string(mlir::Value)>;

LinalgFunction walk_function(mlir::func::FuncOp function,
                             const std::vector<std::vector<int64_t>>& shapes,
                             const ValueNames& names);

}  // namespace fuseflow
