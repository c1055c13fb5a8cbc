// The kernel of a chain of two products (graph/tiles.h).
#pragma once

#include "cuda/kernel.h"
#include "ir/program.h"

namespace fuseflow::cuda {

/// Throws Refused for what is not generated.
Kernel chain_kernel(const Program& program, const Graph& graph, const TableRows* table);

}  // namespace fuseflow::cuda
