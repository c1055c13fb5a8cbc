// What a search is asked for. Nothing of how it searches.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "explore/objective.h"
#include "explore/points.h"

namespace fuseflow {

/// How far a search is.
struct SearchProgress {
  std::string what;  ///< the phase
  size_t done = 0, all = 0;
  std::string best;  ///< what the best program so far takes; empty: none is known
};

/// A program that computes the same from the same data, with whatever a search has no points for:
/// other formats between regions, what stays on chip, parts of kernels. The result is not worse.
struct WholeSeed {
  std::string name;
  Program program;  ///< regions have graphs, or schedules by which they are lowered
  std::optional<Amounts> takes = std::nullopt;  ///< once it was simulated
  bool recalled = false;                        ///< a journal says what it takes
};

/// Plans of the kernels of a search: as runs of them, of which points are made, and those that have
/// statements or copies of their own.
struct PlannedSeeds {
  std::vector<Seed> runs;
  std::vector<WholeSeed> wholes;
};

/// Gives what a function makes of a program, or what it made of it before (Journal::kept).
using KeptProgram = std::function<Program(const std::string& name, const Program& from,
                                          const std::function<Program()>& plan)>;

/// Makes seeds of a program that is searched: as given, rewritten, or in blocks.
struct SeedMaker {
  std::string name;  ///< says what it makes: a journal is of one
  std::function<PlannedSeeds(const Program& kernels, const KeptProgram& kept)> make;
};

struct SearchOptions {
  SearchSpace space;
  Objective objective = Objective::cycles;
  std::vector<WholeSeed> seeds;  ///< in addition to the strategies; only of the given program
  /// The program as it was read, where something of it is left out of the kernels (what stays on
  /// chip between regions): a seed too, and what fuse starts from.
  std::optional<Program> given;
  TilePlanner tiles;                 ///< what fuse considers beside streams, for the seed `auto`
  std::optional<SeedMaker> planned;  ///< what is planned for the machine's cores
  /// Sides of the blocks that all tensors have, a whole search each; 1: none.
  std::vector<int64_t> blocks = {1};
  bool exhaustive = false;  ///< nothing is pruned or cut
  int threads = 1;
  double budget_seconds = 0;  ///< 0: no limit; after it only first points and seeds are simulated
  /// From when these count: also what is planned, and other searches for the same, take time.
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
  std::string journal;  ///< empty: none
  size_t shard = 0;     ///< this shard simulates the points id % shards == shard
  size_t shards = 1;
  bool marks_shard = false;        ///< the CSV says which shard of which search it is
  std::vector<std::string> merge;  ///< CSVs of all shards: nothing is simulated
  std::function<void(const SearchProgress&)> progress;  ///< called by any thread
};

}  // namespace fuseflow
