// From what nodes cost to the cycles of a region, phase by phase, and the lower bound
// (ir-spec/estimate.md, "Cycles").
#pragma once

#include <vector>

#include "estimate/memory_use.h"

namespace fuseflow::estimate {

struct RegionCycles {
  double cycles = 0;
  double bound = 0;
};

/// By NodeId: `timings` as node_timings() gives them, `nodes`, `memory` as memory_use() does.
/// Loading the scratchpad's inputs is not in it.
RegionCycles region_time(const Structure& structure, const Counts& counts, const Machine& machine,
                         const std::vector<UnitTiming>& timings, const std::vector<NodeCost>& nodes,
                         const std::vector<MemoryUse>& memory);

}  // namespace fuseflow::estimate
