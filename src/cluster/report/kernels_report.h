// What became of kernels of single statements, and of several in one kernel, as notes on standard
// error.
#pragma once

#include <vector>

#include "cluster/kernels/divide.h"
#include "cluster/kernels/fold.h"
#include "cluster/kernels/kernels.h"
#include "cluster/kernels/second_product.h"
#include "ir/program.h"

namespace fuseflow::cluster {

/// What kernels were made of, and what was left.
void report_kernels(const Program& program, const std::vector<RefusedKernel>& refused,
                    const std::vector<SparseKernel>& sparse);
/// What the absence of a fact costs products. Plans each as if the fact were known.
void report_lost_tiles(const Program& program, const Machine& machine,
                       const std::vector<UnprovedProduct>& unproved);
/// Products whose operands are kernels of their own now.
void report_divided(const Program& program, const std::vector<DividedProduct>& products);
/// That products of f32 run at the rate of another type, where a plan has such products.
void report_matrix_type(const Program& program, const Machine& machine);
void report_folded(const Program& program, const std::vector<FoldOutcome>& outcomes);
void report_second_products(const Program& program,
                            const std::vector<SecondProductOutcome>& outcomes);

}  // namespace fuseflow::cluster
