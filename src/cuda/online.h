// The kernel of reductions that walk k together (graph/tile_kernel.h): online softmax with its
// products, attention. Scores of a step go through the scratchpad, where warps work on their rows.
#pragma once

#include "cuda/kernel.h"
#include "cuda/text.h"
#include "ir/program.h"

namespace fuseflow::cuda {

/// Keys may be in parts, one a core. Throws Refused for what is not generated: other forms than
/// scores, rows and one product with what they give.
Kernel online_kernel(const Program& program, const Graph& graph, const TableRows* table);

/// The lambda of a row of a step: reductions that go on, the left factor of the product, its
/// rescaling.
std::string step_rows(const Program& program, const Kernel& kernel, const TensorNumbers& tensors,
                      int indent);

/// The lambda of a row whose part of a reduction goes to the other cores: number `number`.
std::string row_values(const Program& program, const Kernel& kernel, int number,
                       const TensorNumbers& tensors, int indent);

}  // namespace fuseflow::cuda
