// What a program has beside its chains and attentions: kernels, folded or combined as rows,
// products after sparse ones, in the order that gives the fewest cycles. And the chains that it is
// faster without.
#pragma once

#include <vector>

#include "cluster/kernels/divide.h"
#include "cluster/kernels/fold.h"
#include "cluster/kernels/kernels.h"
#include "cluster/kernels/second_product.h"
#include "cluster/rows/rows.h"
#include "ir/program.h"
#include "machine/machine.h"

namespace fuseflow::cluster {

/// What was combined: elementwise statements folded (kernels/fold.h), runs of rows as one kernel
/// (rows/rows.h), second products after sparse ones (kernels/second_product.h).
struct CombinedKernels {
  std::vector<KernelOutcome> folded;
  std::vector<RowsOutcome> rows;
  std::vector<KernelOutcome> second_products;
};

/// Cycles of the program's graphs of tiles as it runs them: each from an empty L2, with a pause.
int64_t tiles_cycles(const Program& program, const Machine& machine);

/// Combines kernels of a program whose regions are graphs of tiles where they can be. What is one
/// kernel already is no longer there for another one that begins or ends within it; hence several
/// orders are tried.
CombinedKernels combine_kernels(Program& program, const Machine& machine);

struct RemainingKernels {
  std::vector<RefusedKernel> refused;
  std::vector<SparseKernel> sparse;
  std::vector<UnprovedProduct> unproved;
  std::vector<DividedProduct> divided;
  CombinedKernels combined;
};

/// Plans every region that has no graph, also with the computed operands of products as kernels of
/// their own (kernels/divide.h): what takes fewer cycles stays. Where kernels would gather a tensor
/// in another order than it has, or in several, all of them are planned with each, and the order
/// stays with which the program takes the fewest cycles.
RemainingKernels plan_remaining(Program& program, const Machine& machine,
                                const KernelOptions& options);

/// A chain that went, and the cycles of the graphs of tiles around it with it and without it.
struct DroppedChain {
  TensorId result = -1;
  int64_t with = 0, without = 0;
};

/// Takes the plans of chains (by their last results) away where the part of the program from the
/// chain before to the chain after, its rest planned, takes fewer cycles so: what follows a chain,
/// or comes before it, may be one kernel with one of its products. The last ones first; the rest
/// stays unplanned. `unchained` is the program before the chains were put into it. The statements
/// of a chain that goes are where they were there, or together in the place of the last, whichever
/// is faster. Where the whole program takes no fewer cycles after all, every chain stays.
std::vector<DroppedChain> drop_slow_chains(Program& program, const Program& unchained,
                                           const std::vector<TensorId>& chains,
                                           const Machine& machine, const KernelOptions& options);

}  // namespace fuseflow::cluster
