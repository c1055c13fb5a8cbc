// The search: estimates all points, simulates those whose lower bound leaves them a chance, and
// puts together the partition of least cycles. The order of events does not depend on threads:
// which points are simulated is decided once, after a fixed set of first ones.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "estimate/estimate.h"
#include "explore/journal.h"
#include "explore/points.h"

namespace fuseflow {

struct SearchOptions {
  SearchSpace space;
  int threads = 1;
  double budget_seconds = 0;  ///< 0: no limit; nothing new is simulated after it
  std::string journal;        ///< empty: none
  size_t shard = 0;           ///< this shard simulates the points id % shards == shard
  size_t shards = 1;
  std::vector<std::string> merge;  ///< CSVs of all shards: nothing is simulated
  std::function<void(size_t done, size_t all, const std::string& what)> progress;
};

struct Trial {
  Point point;
  std::string region;
  /// "simulated", "cut", "failed", "pruned" (by the bound), "refused", "same" (graph as another
  /// point's), "elsewhere" (another shard's), "unvisited" (out of time)
  std::string status;
  double estimate = 0;
  double bound = 0;
  PointResult result;
  std::string note;
  bool best = false;
};

struct SearchResult {
  std::vector<Trial> trials;  ///< by point
  int64_t unfused = 0;        ///< every kernel its own region, each with its best point; 0: unknown
  int64_t best = 0;           ///< 0: unknown (a shard, or out of time)
  std::optional<Program> program;  ///< the best, not lowered
};

/// `kernels`: one region a kernel. Throws Error(rejected) if no program can be made, naming why.
SearchResult search(const Program& kernels, const Machine& machine, const SearchOptions& options);

std::string search_csv(const Program& kernels, const Machine& machine, const SearchResult& result);

}  // namespace fuseflow
