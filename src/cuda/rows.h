// The kernel of a run of statements on rows (graph/tile_rows.h): products with weights,
// elementwise operators, softmax, normalisation. What is where on a core: chip/rows.h.
#pragma once

#include "cuda/kernel.h"
#include "cuda/text.h"
#include "ir/program.h"
#include "machine/machine.h"

namespace fuseflow::cuda {

/// Clusters beyond those that the machine runs at a time are turns of these, where something is
/// multiplied, but not in a table. Throws Refused for what is not generated.
Kernel rows_kernel(const Program& program, const Graph& graph, const Machine& machine,
                   const TableRows* table);

/// The lambda of a row of a kernel that has nothing in the scratchpad: its loops one after the
/// other, an element a lane. What one loop computes and a later one reads is computed again.
std::string row_program(const Program& program, const Kernel& kernel, const TensorNumbers& tensors,
                        int indent);

/// The lambda of a row of a tile of one loop (`tile`: its number among the core's): reductions go
/// on from the tile before, results go to memory and to the scratchpad.
std::string row_loop(const Program& program, const Kernel& kernel, int loop,
                     const TensorNumbers& tensors, int indent);

}  // namespace fuseflow::cuda
