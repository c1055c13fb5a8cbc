// Parallel copies: a rewrite of a lowered graph that deals the elements of a loop out to P copies
// of the nodes below it and puts the results back in order. Rules: ir-spec/parallel.md. Knows
// graphs and the schedule's parallel entries, not statements.
#pragma once

#include <span>
#include <vector>

#include "graph/spaces.h"
#include "ir/program.h"

namespace fuseflow {

/// Applies every entry of `parallel` (the loops are nested as the graph nests them, whatever the
/// order of the entries). `tags` (one a node) is kept in step: a copy has its original's. Throws
/// Error(rejected) for an index that is not a loop of the graph, a factor < 1, a loop without work
/// to copy, or more than `max_nodes` nodes. `buffers`: what goes around the copies is given room to
/// wait for them, so that bounded FIFOs do not fill up.
void parallelize_graph(Graph& graph, std::span<const GraphTensor> tensors,
                       const std::vector<Parallel>& parallel, std::vector<size_t>& tags,
                       size_t max_nodes, bool buffers);

}  // namespace fuseflow
