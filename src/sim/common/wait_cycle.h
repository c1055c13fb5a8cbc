// Which nodes of a deadlock wait for each other.
#pragma once

#include <vector>

#include "sim/common/run_result.h"

namespace fuseflow {

/// The shortest cycle in "waits for the next", starting at its least node; empty if there is none.
/// Of several shortest ones, the one with the least first node.
std::vector<Wait> shortest_wait_cycle(const std::vector<Wait>& waits);

}  // namespace fuseflow
