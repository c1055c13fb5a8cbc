// How a tile of a tensor comes into the scratchpad: by the copy engine where the tensor is one or
// more matrices as it lies in memory, else gathered by threads.
#pragma once

#include "cuda/kernel.h"
#include "ir/program.h"

namespace fuseflow::cuda {

/// Sets `view` and `matrix` of a load but for its size and panels, or why it is gathered. Throws
/// Refused for tensors whose elements are not in row-major order, or of a type that no product
/// takes.
void choose_copy(const Program& program, const Graph& graph, Load& load, const chip::TileDims& dims,
                 const LaunchRows& rows);

/// Throws Refused unless the tensor's elements are all stored, in row-major order.
void require_row_major(const Program& program, TensorId tensor);

}  // namespace fuseflow::cuda
