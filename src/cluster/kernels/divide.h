// Statements of several reductions divided, so that each has the form of a kernel of tiles.
#pragma once

#include <cstddef>
#include <vector>

#include "cluster/kernels/kernels.h"
#include "ir/program.h"
#include "machine/machine.h"

namespace fuseflow::cluster {

struct DividedStatement {
  TensorId result = -1;
  size_t reductions = 0;  ///< each in a statement of its own now, the last in the result's
};

/// Divides the statements of several reductions of every region without a graph and a schedule that
/// make_kernels then makes kernels of, by form. The reference section keeps them as they were. New
/// intermediates are dense.
std::vector<DividedStatement> divide_statements(Program& program, const Machine& machine,
                                                const KernelOptions& options = {});

}  // namespace fuseflow::cluster
