// What a search has worked out besides results of simulations: estimates of points, the sets of
// placements and the copies that it tried, its seeds and what they take as a whole. A journal keeps
// it as lines, so that a resumed search goes on where it stopped instead of working it out again.
// Everything here is by the keys of points, and by runs of kernels of one of the programs that are
// searched: by nothing that depends on time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "explore/objective.h"
#include "explore/points.h"
#include "search/interval.h"

namespace fuseflow {

/// What became of a point before it was simulated.
struct EstimatedPoint {
  bool refused = false;
  uint64_t graph = 0;  ///< fingerprint
  std::string region;  ///< its name
  std::string note;    ///< why it was refused
  Amounts expected, least;
};

/// A point that stores a set of intermediates: what tells it from other points of its run.
struct StoredSet {
  std::string name;
  std::vector<UsePlacement> placements;
  std::vector<std::string> order;
};

/// A point with parallel copies: the point without them, and the copies.
struct CopiedPoint {
  uint64_t base = 0;  ///< key
  std::vector<Parallel> parallel;
};

/// A run of kernels of the program whose blocks have this side.
using RunOfBlocks = std::pair<int64_t, Interval>;

struct Memo {
  std::map<uint64_t, EstimatedPoint> estimates;            ///< by point
  std::map<RunOfBlocks, std::vector<StoredSet>> sets;      ///< once it was tried
  std::map<RunOfBlocks, std::vector<CopiedPoint>> copies;  ///< once they were tried
  std::map<std::string, Amounts> wholes;                   ///< what seeds take as a whole, by name
  std::map<std::string, std::string> programs;             ///< planned, as text (Journal::kept)

  /// Takes what the fields of a line say; false if they are no line of a memo. Says in `wrong` what
  /// is wrong with one.
  bool take(const std::vector<std::string>& fields, std::string& wrong);
};

// A line each, with its end.
std::string memo_line(uint64_t point, const EstimatedPoint& estimated);
std::string memo_line(const RunOfBlocks& run, const std::vector<StoredSet>& sets);
std::string memo_line(const RunOfBlocks& run, const std::vector<CopiedPoint>& copies);
std::string memo_line(const std::string& whole, const Amounts& takes);
std::string memo_line(const std::string& key, const Program& planned);

}  // namespace fuseflow
