// Which forms of kernels of tiles are generated for the chip: the one account of it, by which
// fuseflow-cuda refuses the others, and planners keep the chip's rules for those that are.
// ir-spec/cuda.md, "What is fitted".
#pragma once

#include <string>

#include "graph/graph.h"

namespace fuseflow::chip {

/// Why no kernels of the form of a graph of tiles are generated; empty where they are. Types of
/// elements, and what fits, are other questions.
std::string why_no_form(const Graph& graph);

/// Do several tiles of C take the same room in a chain?
bool overwrites_c(const Graph& graph);

}  // namespace fuseflow::chip
