// The search engine: counts what each pruning rule leaves, costs the pruned space and keeps the
// best K plans in a stated order. No simulation here. Beside the published space: even_tiles.h.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cluster/chain/ranking.h"

namespace fuseflow::cluster {

/// Powers of two from 16 up that divide `size` (rule 1), ascending.
std::vector<int64_t> tile_sizes(int64_t size);

/// Shapes of clusters that a search tries, and what a gated chain may do with its branches.
std::vector<ClusterShape> shapes_for(Holding holding, const Machine& machine);
std::vector<GatedWay> gated_ways(const Chain& chain);

/// Candidates left by no rule and by rules 1, 1-2, ..., 1-5. Throws Error(rejected) when a count
/// exceeds 2^63-1.
struct Counts {
  std::array<int64_t, 6> left{};
};

struct SearchOptions {
  int64_t top = 0;                    ///< plans kept, the best by cost first; 0: all
  Holding holding = Holding::linked;  ///< anything else: every cluster is one core
  bool skip_costs = false;            ///< only count
};

/// A seeded sample of the executable plans, for comparison with a search.
struct SampleOptions {
  int plans = 0;
  uint64_t seed = 1;
  Holding holding = Holding::linked;
};

struct SearchResult {
  Counts counts;
  int64_t executable = 0;        ///< of the candidates left by rule 5, those that can run
  std::vector<RankedPlan> best;  ///< by phased, memory cost, global bytes, tile products, number
};

/// `count` plans drawn from the executable ones with equal probability (reservoir sampling).
std::vector<RankedPlan> random_plans(const Chain& chain, const Machine& machine,
                                     const SampleOptions& options);

/// Searches the space of a chain whose extents have been padded. Of plans that do the same work in
/// the same order, the first is kept.
SearchResult search(const Chain& chain, const Machine& machine, const SearchOptions& options);

}  // namespace fuseflow::cluster
