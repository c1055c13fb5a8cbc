// The kernel of a product by itself (graph/tile_kernel.h).
#pragma once

#include "cuda/kernel.h"
#include "ir/program.h"

namespace fuseflow::cuda {

/// Throws Refused for what is not generated: all kernels but one product of two loads and what
/// follows it.
Kernel product_kernel(const Program& program, const Graph& graph, const TableRows* table);

}  // namespace fuseflow::cuda
