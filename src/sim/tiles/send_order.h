// In which order a core begins its sends: one after the other on its link. Rules:
// ir-spec/cluster.md, "The order of sends". Knows nothing of time (launch.h).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/tiles/multicast.h"
#include "sim/tiles/successors.h"
#include "sim/tiles/tile_ops.h"

namespace fuseflow {

/// Sends are ordered by how many operations have to run before them, one after the other, for what
/// they send and for their room; of equals the first in the program. So a tile for a later step is
/// sent as early as its room allows, but not in front of what could be sent before it by then. And
/// no send waits for one after it: steps grow along whatever waits for another, so does the order.
struct SendOrder {
  std::vector<int32_t> sends;  ///< core by core, those of a core in their order
  std::vector<int32_t> place;  ///< by operation: its place in `sends`; kNone: it is no send
  std::vector<bool> first;     ///< by place: it is the first one of its core

  SendOrder(const TileOps& ops, const Successors& successors, const SharedLoads& shared);
  /// The place of the send of the same core that follows; kNone: there is none.
  int32_t next(int32_t at) const;
};

}  // namespace fuseflow
