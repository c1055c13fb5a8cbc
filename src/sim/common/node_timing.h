// Latency and interval of a node on a machine.
#pragma once

#include "graph/graph.h"
#include "machine/machine.h"

namespace fuseflow {

/// Latency and interval of a node's steps: its class's, more for steps on blocks
/// (ir-spec/blocks.md).
UnitTiming node_timing(const Machine& machine, const Graph& graph, const Node& node);

}  // namespace fuseflow
