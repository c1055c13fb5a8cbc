// What two threads could share of the work that one has done. Measured, not guessed; no threads.
#pragma once

#include <memory>
#include <vector>

#include "sim/common/run_result.h"
#include "sim/functional/node.h"

namespace fuseflow::engine {

/// Of nodes that ran together, each with its HostTime.
HostWork host_work(const std::vector<std::unique_ptr<EngineNode>>& nodes);

}  // namespace fuseflow::engine
