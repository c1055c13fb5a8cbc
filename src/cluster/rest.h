// What a program has beside its chains and attentions, planned without a word: kernels, folded or
// combined as rows, products after sparse ones. And the chains that it is faster without.
#pragma once

#include <vector>

#include "cluster/kernels/kernels.h"
#include "ir/program.h"
#include "machine/machine.h"

namespace fuseflow::cluster {

/// Plans every region that has no graph.
void plan_rest(Program& program, const Machine& machine, const KernelOptions& options);

/// A chain that went, and the cycles of all graphs of tiles with it and without it.
struct DroppedChain {
  TensorId result = -1;
  int64_t with = 0, without = 0;
};

/// Takes the plans of chains (by their last results) away where the program, its rest planned,
/// takes fewer cycles so: what follows a chain, or comes before it, may be one kernel with one of
/// its products. The last ones first; the rest stays unplanned.
std::vector<DroppedChain> drop_slow_chains(Program& program, const std::vector<TensorId>& chains,
                                           const Machine& machine, const KernelOptions& options);

}  // namespace fuseflow::cluster
