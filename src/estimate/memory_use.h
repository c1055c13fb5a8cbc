// What nodes ask of a memory that takes time: bursts, and how long they wait for them.
#pragma once

#include <vector>

#include "estimate/costs.h"
#include "estimate/memory_time.h"
#include "estimate/stored_arrays.h"

namespace fuseflow::estimate {

/// What a node asks of the memory that its tensor is in; all 0 for nodes without one.
struct MemoryUse {
  bool asks = false;
  MemoryTraffic asked;
  double span = 0;          ///< cycles that its steps take, as fast as its ports let it
  double refreshed = 0;     ///< of these, what refreshes add
  double waited = 0;        ///< cycles that a result waits for what was read, one after the other
  double acknowledged = 0;  ///< cycles from the last step to the end of what was written
};

/// By NodeId. `nodes`: their steps and bytes. `arrays`: by TensorId.
std::vector<MemoryUse> memory_use(const Structure& structure, const Counts& counts,
                                  const MemoryTime& memory, const std::vector<NodeCost>& nodes,
                                  const std::vector<StoredArrays>& arrays);

}  // namespace fuseflow::estimate
