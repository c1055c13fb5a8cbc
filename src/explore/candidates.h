// Adds the points of a search to its table and numbers them. Which runs of kernels more is tried
// for, and what becomes of the points, is not known here.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "estimate/pass_costs.h"
#include "explore/search_state.h"

namespace fuseflow {

/// Numbers depend on the seeds, too, of which a short search plans fewer: journals and shards know
/// points by their keys.
class Candidates {
 public:
  /// Adds what is enumerated. Points are numbered from `first_id`.
  Candidates(SearchState& state, size_t first_id);

  /// Adds, for each of these runs for which it was not done, points that store whole sets of
  /// intermediates. `share`: of the time budget, after which no more runs are tried.
  void add_sets(std::vector<Interval> runs, double share);
  /// Adds points with parallel copies, for runs whose points are estimated.
  void add_copies(const std::vector<Interval>& runs, double share);

  /// After the last number that a point may have.
  size_t end_id() const;

 private:
  size_t id_of_copies(Interval run) const;
  size_t id_of_sets(Interval run) const;
  void learn();
  void add(std::vector<Trial> trials, size_t id);
  void add(Trial trial);

  SearchState& s_;
  const size_t first_id_;
  size_t enumerated_ = 0;
  std::map<uint64_t, size_t> by_key_;        ///< positions in the table
  std::set<Interval> with_sets_;             ///< runs for which sets were tried
  std::unique_ptr<EstimatedCosts> learned_;  ///< of the kernels; null: nobody has asked yet
  bool is_learned_ = false;
};

}  // namespace fuseflow
