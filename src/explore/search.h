// The search over a program and its variants with dense blocks (search_program.h searches one).
// Nothing of how points are made, estimated or simulated.
#pragma once

#include "explore/search_options.h"
#include "explore/search_result.h"

namespace fuseflow {

/// `kernels`: one region a kernel. Throws Error(rejected) if no program can be made, naming why.
SearchResult search(const Program& kernels, const Machine& machine, const SearchOptions& options);

}  // namespace fuseflow
