// The search beside the published space, for extents that are no powers of two: tiles that are
// multiples of 16 and cut an extent evenly. Each plan pads the chain to its own whole steps, so
// that counts, bound and simulation are those of any plan.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/chain/search.h"

namespace fuseflow::cluster {

/// A tile of one block, and the elements that whole steps of its blocks cover.
struct EvenTile {
  int64_t tile = 16, covered = 16;
  bool operator==(const EvenTile&) const = default;
};

/// For `size` elements and steps of `blocks` blocks, ascending: the tile for each of one to four
/// steps, and for as many as each power of two from `unit` takes. Tiles are multiples of `unit`.
/// Padding is at most a third, or what padded() adds. Of a power of two (in whole units): the
/// powers of two that divide, as published.
std::vector<EvenTile> even_tiles(int64_t size, int64_t blocks, int64_t unit = 16);

struct EvenPlans {
  std::vector<RankedPlan> plans;  ///< in the order of the ranking
  int64_t bounded = 0;            ///< more that can run, but have no bound below `to_beat`
};

/// Executable plans of such tiles that are not in the published space; none where every extent is a
/// power of two. `chain` has been padded. `to_beat`: cycles that a plan has to be below; 0: any.
EvenPlans even_plans(const Chain& chain, const Machine& machine, const SearchOptions& options,
                     int64_t to_beat);

}  // namespace fuseflow::cluster
