// What became of kernels of single statements, and of several in one kernel, as notes on standard
// error.
#pragma once

#include <vector>

#include "cluster/kernels/fold.h"
#include "cluster/kernels/kernels.h"
#include "cluster/kernels/second_product.h"
#include "ir/program.h"

namespace fuseflow::cluster {

void report_sparse_product(const Program& program, const SparseKernel& kernel);
void report_folded(const Program& program, const std::vector<FoldOutcome>& outcomes);
void report_second_products(const Program& program,
                            const std::vector<SecondProductOutcome>& outcomes);

}  // namespace fuseflow::cluster
