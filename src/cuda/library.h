// Statements that a library computes: sums of products that are a (batched) matrix product of
// tensors as they lie in memory.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cuda/launch_rows.h"
#include "ir/program.h"

namespace fuseflow::cuda {

/// An initialiser of ff::LibraryProduct (gpu/library.h), where the statement is such a product of
/// tensors of f16 or of bf16. `numbers`: those that the text gives to tensors; `table`: null where
/// the program is none of a table.
std::optional<std::string> library_product(const Program& program, const Statement& statement,
                                           const std::map<TensorId, int>& numbers,
                                           const TableRows* table);

}  // namespace fuseflow::cuda
