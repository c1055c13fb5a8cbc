// How a tile of a tensor comes into the scratchpad: by the copy engine where the tensor is one or
// more matrices as it lies in memory, else gathered by threads.
#pragma once

#include "cuda/kernel.h"
#include "ir/program.h"

namespace fuseflow::cuda {

/// The graph's dimensions of a tile. `batch`: -1, or the one of which a tile has one element.
struct TileDims {
  int row = -1, column = -1, batch = -1;
};

/// Sets `view` and `matrix.by_rows` of a load, or why it is gathered. Throws Refused for tensors
/// whose elements are not in row-major order, or not of two bytes.
void choose_copy(const Program& program, const Graph& graph, Load& load, const TileDims& dims,
                 const LaunchRows& rows);

/// Throws Refused unless the tensor's elements are all stored, in row-major order.
void require_row_major(const Program& program, TensorId tensor);

}  // namespace fuseflow::cuda
