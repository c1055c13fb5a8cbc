// Latency and interval of a graph's nodes on a machine.
#pragma once

#include <vector>

#include "ir/program.h"
#include "machine/machine.h"

namespace fuseflow {

/// Latency and interval of each node's steps, in cycles, by NodeId: its class's, more for steps on
/// blocks (ir-spec/blocks.md), and where nodes take turns at the scratchpad's ports.
std::vector<UnitTiming> node_timings(const Program& program, const Machine& machine,
                                     const Graph& graph);

}  // namespace fuseflow
