// Statements divided, so that each has the form of a kernel of tiles, and the best one: several
// reductions, and products of what is computed in them.
#pragma once

#include <cstddef>
#include <cstdint>
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

/// A product whose operands are computed before it now.
struct DividedProduct {
  TensorId result = -1;
  std::vector<TensorId> operands;  ///< new intermediates
};

enum class Divide : uint8_t {
  always,
  where_faster,  ///< as kernels apart, one after the other
};

/// Gives the computed operands of products (`sum(k) relu(x[i, k]) * w[k, j]`) statements of their
/// own, in every region without a graph and a schedule that has the form of kernels. The reference
/// section keeps what was given.
std::vector<DividedProduct> divide_products(Program& program, const Machine& machine,
                                            const KernelOptions& options, Divide when);

}  // namespace fuseflow::cluster
