// The partition of a sequence into runs of least total cost, by dynamic programming.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "search/interval.h"

namespace fuseflow {

inline constexpr double kNoCost = std::numeric_limits<double>::infinity();

/// A cost for every run of `n` kernels; kNoCost where there is none. In a long program few runs
/// have one, so that it holds, for each kernel, those up to the longest that begin there.
class IntervalCosts {
 public:
  explicit IntervalCosts(size_t n) : costs_(n) {}

  double& operator[](Interval run) {
    std::vector<double>& from = costs_[run.first];
    if (from.size() < run.size()) from.resize(run.size(), kNoCost);
    return from[run.size() - 1];
  }
  double operator[](Interval run) const {
    const std::vector<double>& from = costs_[run.first];
    return run.size() <= from.size() ? from[run.size() - 1] : kNoCost;
  }
  size_t kernels() const { return costs_.size(); }
  /// Runs that begin with this kernel and are longer have no cost.
  size_t longest(size_t first) const { return costs_[first].size(); }

 private:
  std::vector<std::vector<double>> costs_;  ///< by first kernel and length
};

class Partition {
 public:
  /// `pause`: added between two runs.
  Partition(const IntervalCosts& cost, double pause);

  double total() const { return before_.back() - pause_; }
  /// The least cost of everything but this run, with the pauses around it.
  double around(Interval run) const { return before_[run.first] + after_[run.last + 1]; }
  /// The runs of the best partition; none where there is no partition.
  std::vector<Interval> intervals() const;

 private:
  double pause_;
  std::vector<double> before_;  ///< least cost of the first k, a pause after each run
  std::vector<double> after_;   ///< least cost of k .. n-1, a pause before each run
  std::vector<size_t> start_;   ///< of the last run of the best of the first k
};

/// The runs of the best partition into so many runs; none where there is none.
std::vector<Interval> best_partition_into(size_t runs, const IntervalCosts& cost);

}  // namespace fuseflow
