// The partition of a sequence into runs of least total cost, by dynamic programming.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "explore/interval.h"

namespace fuseflow {

inline constexpr double kNone = std::numeric_limits<double>::infinity();

/// A cost for every run of `n` kernels; kNone where there is none.
class IntervalCosts {
 public:
  explicit IntervalCosts(size_t n) : n_(n), costs_(n * n, kNone) {}

  double& operator[](Interval run) { return costs_[run.first * n_ + run.last]; }
  double operator[](Interval run) const { return costs_[run.first * n_ + run.last]; }
  size_t kernels() const { return n_; }

 private:
  size_t n_;
  std::vector<double> costs_;
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

}  // namespace fuseflow
