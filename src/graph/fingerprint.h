// A number that equal graphs share and different ones (almost surely) do not. Names of streams do
// not count.
#pragma once

#include "graph/graph.h"

namespace fuseflow {

uint64_t fingerprint(const Graph& graph);

}  // namespace fuseflow
