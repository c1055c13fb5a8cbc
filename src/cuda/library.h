// Statements that a library computes: sums of products that are a (batched) matrix product of
// tensors as they lie in memory.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "ir/program.h"

namespace fuseflow::cuda {

/// An initialiser of ff::LibraryProduct (gpu/library.h), where the statement is such a product of
/// tensors of f16. `numbers`: those that the text gives to tensors.
std::optional<std::string> library_product(const Program& program, const Statement& statement,
                                           const std::map<TensorId, int>& numbers);

}  // namespace fuseflow::cuda
