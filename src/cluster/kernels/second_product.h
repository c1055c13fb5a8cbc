// Products that leave tiles out and the dense product after each, as one kernel: found in the
// kernels of a program, planned, compared with these, and put into it where they win.
#pragma once

#include <vector>

#include "cluster/common/outcome.h"
#include "ir/program.h"

namespace fuseflow::cluster {

/// Every pair in regions that follow each other, each a graph of tiles, in program order: of those
/// that a product begins the one that saves most, or the reason why the first has no form. Those
/// that are faster have a region of their own afterwards, with the graph, in the place of the last
/// one's.
std::vector<KernelOutcome> plan_second_products(Program& program, const Machine& machine);

}  // namespace fuseflow::cluster
