// Deadlocks as data to text: the shortest cycle of waits, and the explanation a user sees.
#pragma once

#include <string>
#include <vector>

#include "sim/common/run_result.h"

namespace fuseflow {

/// Several lines: the cycle, which node waits on which stream and how full that is, all other waits
/// in brief, and the depth that frees it.
std::string explain_deadlock(const Graph& graph, const Deadlock& deadlock);

}  // namespace fuseflow
