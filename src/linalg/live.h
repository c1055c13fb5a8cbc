// What the results of a function depend on.
#pragma once

#include <vector>

#include "linalg/function.h"

namespace fuseflow {

/// By value: whether some returned value depends on it.
std::vector<bool> live_values(const LinalgFunction& function);

/// The tensors that the live results of an operation of the function are computed from; none if it
/// has no live ones.
std::vector<LinalgId> values_read(const LinalgFunction& function, const LinalgOp& op,
                                  const std::vector<bool>& live);

/// By body node: whether one of these needs it.
std::vector<bool> needed_nodes(const LinalgOp& op, const std::vector<int32_t>& roots);

}  // namespace fuseflow
