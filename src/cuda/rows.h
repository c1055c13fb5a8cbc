// The kernel of a run of statements on rows (graph/tile_rows.h) without products: softmax,
// normalisation.
#pragma once

#include "cuda/kernel.h"
#include "cuda/text.h"
#include "ir/program.h"

namespace fuseflow::cuda {

/// Throws Refused for what is not generated: products of rows, rows that are spread over cores.
Kernel rows_kernel(const Program& program, const Graph& graph);

/// The lambda of a row: its loops one after the other, an element a lane. What one loop computes
/// and a later one reads is computed again. `batch`, `rows`: where the tile is.
std::string row_program(const Program& program, const Kernel& kernel, const TensorNumbers& tensors,
                        int indent);

}  // namespace fuseflow::cuda
