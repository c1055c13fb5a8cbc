// The search: estimates all points, simulates those whose lower bound leaves them a chance, and
// puts together the partition of least cost. The order of events does not depend on threads:
// points are simulated in waves of a fixed list, and what a point has to beat is decided before
// each wave. A shard knows less than the whole search, so it simulates at least what the whole
// search would, and merging shards decides everything once more from their results.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "explore/front.h"
#include "explore/trial.h"

namespace fuseflow {

/// How far a search is.
struct SearchProgress {
  std::string what;  ///< the phase
  size_t done = 0, all = 0;
  std::string best;  ///< what the best program so far takes; empty: none is known
};

struct SearchOptions {
  SearchSpace space;
  Objective objective = Objective::cycles;
  std::vector<Seed> seeds;  ///< besides the strategies
  /// Sides of the blocks that all tensors have, a whole search each; 1: none.
  std::vector<int64_t> blocks = {1};
  bool exhaustive = false;  ///< nothing is pruned or cut
  int threads = 1;
  double budget_seconds = 0;  ///< 0: no limit; after it only first points and seeds are simulated
  std::string journal;        ///< empty: none
  size_t shard = 0;           ///< this shard simulates the points id % shards == shard
  size_t shards = 1;
  std::vector<std::string> merge;  ///< CSVs of all shards: nothing is simulated
  std::function<void(const SearchProgress&)> progress;  ///< called by any thread
};

/// What a seed's regions take, each in the best way in which it was tried without copies.
struct SeedTotal {
  std::string name;
  double cost = 0;        ///< the objective's; 0: some region was refused, or not simulated
  bool at_least = false;  ///< some region was cut or pruned: no less than this
};

struct SearchResult {
  std::vector<Trial> trials;  ///< by point
  Objective objective = Objective::cycles;
  Amounts unfused;                      ///< every kernel its own region, each with its best order
  Amounts unfused_copies;               ///< and each with its best parallel copies
  Amounts best;                         ///< unknown of a shard, or out of time
  std::vector<FrontProgram> front;      ///< (cycles, energy) of simulated points
  std::vector<SeedTotal> seeds;         ///< without `none`, which is `unfused`
  std::optional<Program> program;       ///< the best, not lowered
  std::vector<std::string> unfinished;  ///< seeds that time did not suffice for
  std::vector<std::string> notes;       ///< what of the space could not be searched
};

/// `kernels`: one region a kernel. Throws Error(rejected) if no program can be made, naming why.
SearchResult search(const Program& kernels, const Machine& machine, const SearchOptions& options);

std::string search_csv(const Program& kernels, const Machine& machine, const SearchResult& result);

}  // namespace fuseflow
