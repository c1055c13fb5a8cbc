// Whether a chain takes what follows its second product. More than sums needs all of a row of E in
// one cluster, so that the chain may be slower than one that ends before it and a kernel of the
// rest.
#pragma once

#include "cluster/chain/recognize.h"
#include "cluster/common/fastest.h"
#include "ir/program.h"

namespace fuseflow::cluster {

/// Of each chain the longer or the shorter form, by the cycles of its best plan and of the kernels
/// of what it leaves.
std::vector<FoundChain> with_fastest_tails(const Program& program, std::vector<FoundChain> chains,
                                           const Machine& machine, const Effort& effort,
                                           int threads);

}  // namespace fuseflow::cluster
