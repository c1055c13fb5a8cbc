// Whether a statement reads a tensor.
#pragma once

#include <algorithm>

#include "ir/program.h"

namespace fuseflow {

inline bool reads(const Statement& statement, TensorId tensor) {
  return std::any_of(statement.nodes.begin(), statement.nodes.end(), [&](const Expr& node) {
    return node.kind == Expr::Kind::access && node.tensor == tensor;
  });
}

}  // namespace fuseflow
