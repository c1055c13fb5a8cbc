// A quick estimate of a graph's arithmetic, for decisions of placement: expected stream lengths
// under the assumption that entries are spread evenly and independently. Reads no data: the number
// of entries comes from the sources' `nnz`. (The full analysis is in estimate/.)
#pragma once

#include <vector>

#include "ir/program.h"

namespace fuseflow {

/// Expected number of elements of each stream.
std::vector<double> estimated_elements(const Program& program, const Graph& graph);

/// Expected FLOPs of each node.
std::vector<double> estimated_flops(const Program& program, const Graph& graph);

/// What a graph costs, roughly. Phases that start by rows overlap where rows are read in the order
/// in which they are written; else a phase waits for what it reads.
struct GraphCost {
  double steps = 0;       ///< of the busiest nodes, along the phases that wait for each other
  double dram_bytes = 0;  ///< between memory and nodes, 4 for each access
  double tokens = 0;
};
GraphCost estimated_cost(const Program& program, const Graph& graph);

/// How many entries of each tensor a graph reads from it: as often as the level that it reads most
/// often. A scan reads coordinates also where the values are not read later.
std::vector<double> estimated_reads(const Program& program, const Graph& graph);

/// Expected number of present entries of a tensor; all elements if nothing is known.
double estimated_entries(const Tensor& tensor);

}  // namespace fuseflow
