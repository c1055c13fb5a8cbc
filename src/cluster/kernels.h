// Kernels apart: every statement by itself as a kernel of tiles (graph/tile_kernel.h), elementwise
// statements of a region that one other reads folded into it. The unfused program as a program.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"
#include "machine/machine.h"

namespace fuseflow::cluster {

/// A region that stays as it is, and why.
struct RefusedKernel {
  std::string region;
  std::string why;
};

/// Stores every tensor dense, so that its statements have forms of tiles; what was absent is its
/// fill. Throws Error(rejected) where a region is lowered to streams already, which read levels.
void store_dense(Program& program);

/// Gives every region without a graph and without a schedule the form of kernels, one region each,
/// in the order of its statements. A region of which a statement has no such form stays as it is.
std::vector<RefusedKernel> make_kernels(Program& program, const Machine& machine);

}  // namespace fuseflow::cluster
