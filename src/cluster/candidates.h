// What candidates for the tiles of a kernel are made of: sizes of blocks, and whether a core has
// room for what they give.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "machine/machine.h"

namespace fuseflow::cluster {

/// Powers of two from 16 up to the first that covers the size, at most `most`.
std::vector<int64_t> power_blocks(int64_t size, int64_t most);

/// Blocks of at most `most` elements that cut `size` evenly.
int64_t even_block(int64_t size, int64_t most);

/// One for each of the powers, cut evenly; each once, ascending.
std::vector<int64_t> even_blocks(int64_t size, int64_t most);

/// Does a kernel fit the registers and the scratchpad of a core?
bool fits_core(const Graph& graph, const Machine& machine);

}  // namespace fuseflow::cluster
