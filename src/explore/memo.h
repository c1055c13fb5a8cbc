// What a search has worked out besides results of simulations: estimates of points, the sets of
// placements and the copies that it tried, its seeds and what they take as a whole. A journal keeps
// it as lines, so that a resumed search goes on where it stopped instead of working it out again.
// Everything here is by the numbers of points and runs of kernels, which depend on the search alone
// (explore/identity.h).
#pragma once

#include <map>
#include <optional>
#include <string>
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
  size_t base = 0;
  std::vector<Parallel> parallel;
};

struct Memo {
  std::map<size_t, EstimatedPoint> estimates;           ///< by point
  std::map<Interval, std::vector<StoredSet>> sets;      ///< by run, once it was tried
  std::map<Interval, std::vector<CopiedPoint>> copies;  ///< by run, once they were tried
  std::map<std::string, Amounts> wholes;                ///< what seeds take as a whole, by name
  std::map<std::string, std::string> programs;          ///< planned, as text (Journal::kept)

  /// Takes what the fields of a line say; false if they are no line of a memo. Says in `wrong` what
  /// is wrong with one.
  bool take(const std::vector<std::string>& fields, std::string& wrong);
};

// A line each, with its end.
std::string memo_line(size_t point, const EstimatedPoint& estimated);
std::string memo_line(Interval run, const std::vector<StoredSet>& sets);
std::string memo_line(Interval run, const std::vector<CopiedPoint>& copies);
std::string memo_line(const std::string& whole, const Amounts& takes);
std::string memo_line(const std::string& key, const Program& planned);

}  // namespace fuseflow
