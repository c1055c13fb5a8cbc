// What a search gives. Nothing of how it was found, nor of how it is printed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explore/pareto.h"
#include "explore/search_options.h"
#include "explore/trial.h"

namespace fuseflow {

/// What the regions of a seed take, each in the best way in which it was tried without copies.
struct SeedTotal {
  std::string name;
  double cost = 0;        ///< the objective's; 0: some region was refused, or not simulated
  bool at_least = false;  ///< some region was cut or pruned: no less than this
};

/// Which part of which search a result is, in its CSV.
struct ShardMark {
  std::string search;  ///< explore/identity.h
  std::string shard;   ///< "0/2"
  bool ended = false;  ///< no signal stopped it: its CSV ends with a row that says so
};

struct SearchResult {
  std::vector<Trial> trials;  ///< by point
  Objective objective = Objective::cycles;
  Amounts unfused;                      ///< every kernel its own region, each with its best order
  Amounts unfused_copies;               ///< and each with its best parallel copies
  Amounts best;                         ///< unknown of a shard, or out of time
  std::vector<ParetoProgram> front;     ///< (cycles, energy) of simulated points
  std::vector<SeedTotal> seeds;         ///< without `none`, which is `unfused`
  std::optional<Program> program;       ///< the best, not lowered
  std::string best_seed;                ///< the seed that the best program is as a whole; or empty
  std::vector<WholeSeed> wholes;        ///< seeds that are still to be compared as a whole
  std::optional<ShardMark> mark;        ///< of a shard
  std::vector<std::string> unfinished;  ///< seeds that time did not suffice for
  std::vector<std::string> notes;       ///< what of the space could not be searched
};

}  // namespace fuseflow
