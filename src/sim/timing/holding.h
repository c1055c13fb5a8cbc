// Which nodes can hold each other up: through tokens, the room that takes leave in bounded FIFOs,
// and a memory that they share. What holds of a graph on a machine; no times.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/functional/node.h"

namespace fuseflow::engine {

/// Tokens that a stream may hold; 0: any number.
int64_t depth_of(const Graph& graph, const Machine& machine, StreamId stream);

/// A node that is a strongly connected component by itself, and has one side: only its producers
/// delay it. (Of two stores each waits for the other one to be drained.)
constexpr int kAlone = -1;

/// The nodes of memory's component, if memory takes time.
constexpr int kMemory = 0;

/// The component of each of the nodes that run together, in graph order: numbers from kMemory + 1
/// on but for memory's; kAlone where a node is a component by itself.
std::vector<int> find_components(const Graph& graph, const Machine& machine,
                                 const std::vector<std::unique_ptr<EngineNode>>& nodes);

}  // namespace fuseflow::engine
