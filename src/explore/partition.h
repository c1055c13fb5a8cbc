// The partition of a sequence into runs of least total cost, by dynamic programming.
#pragma once

#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace fuseflow {

inline constexpr double kNone = std::numeric_limits<double>::infinity();

class Partition {
 public:
  /// `cost[first * n + last]`: of the run first .. last, kNone where there is none. `pause`: added
  /// between two runs.
  Partition(size_t n, const std::vector<double>& cost, double pause);

  double total() const { return before_.back() - pause_; }
  /// The least cost of everything but the run first .. last, with the pauses around it.
  double around(size_t first, size_t last) const { return before_[first] + after_[last + 1]; }
  /// The runs of the best partition, (first, last).
  std::vector<std::pair<size_t, size_t>> intervals() const;

 private:
  size_t n_;
  double pause_;
  std::vector<double> before_;  ///< least cost of the first k, a pause behind each run
  std::vector<double> after_;   ///< least cost of k .. n-1, a pause before each run
  std::vector<size_t> start_;   ///< of the last run of the best of the first k
};

}  // namespace fuseflow
