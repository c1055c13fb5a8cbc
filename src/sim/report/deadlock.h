// Deadlocks as data to text: the shortest cycle of waits, and the explanation a user sees.
#pragma once

#include <string>
#include <vector>

#include "sim/run.h"

namespace fuseflow {

/// The shortest cycle in "waits for the next", starting at its least node; empty if there is none.
/// Of several shortest ones, the one with the least first node.
std::vector<Wait> shortest_wait_cycle(const std::vector<Wait>& waits);

/// Several lines: the cycle, who waits on which stream and how full it is, all other waits in
/// brief, and the depth that frees it.
std::string explain_deadlock(const Graph& graph, const Deadlock& deadlock);

}  // namespace fuseflow
