// In which order a core begins its sends: one after the other on its link. Rules: ir-spec/cluster.md,
// "The order of sends". Knows nothing of time (launch.h).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/tiles/tile_ops.h"

namespace fuseflow {

/// A send stands where the programs of the cores have passed what it waits for: what it sends, and
/// the end of what it overwrites. So a tile for a later step is sent as early as its room allows,
/// but not in front of what could be sent before it by then.
struct SendOrder {
  std::vector<int32_t> sends;  ///< core by core, those of a core in their order
  std::vector<int32_t> place;  ///< by operation: its place in `sends`; kNone: it is no send

  explicit SendOrder(const TileOps& ops);
  /// The place of the send of the same core that follows; kNone: there is none.
  int32_t next(const TileOps& ops, int32_t place) const;
  bool is_first(const TileOps& ops, int32_t place) const;
};

}  // namespace fuseflow
