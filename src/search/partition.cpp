#include "search/partition.h"

#include <algorithm>
#include <utility>

namespace fuseflow {

Partition::Partition(const IntervalCosts& cost, double pause)
    : pause_(pause),
      before_(cost.kernels() + 1, kNoCost),
      after_(cost.kernels() + 1, kNoCost),
      start_(cost.kernels() + 1, 0) {
  const size_t n = cost.kernels();
  before_[0] = 0;
  for (size_t first = 0; first < n; ++first) {
    for (size_t end = first + 1; end <= first + cost.longest(first); ++end) {
      const double sum = before_[first] + cost[{first, end - 1}] + pause;
      if (sum < before_[end]) {
        before_[end] = sum;
        start_[end] = first;
      }
    }
  }
  after_[n] = 0;
  for (size_t first = n; first-- > 0;) {
    for (size_t last = first; last < first + cost.longest(first); ++last) {
      after_[first] = std::min(after_[first], cost[{first, last}] + pause + after_[last + 1]);
    }
  }
}

std::vector<Interval> Partition::intervals() const {
  std::vector<Interval> result;
  if (before_.back() == kNoCost) return result;
  for (size_t end = start_.size() - 1; end > 0; end = start_[end]) {
    result.push_back({start_[end], end - 1});
  }
  std::reverse(result.begin(), result.end());
  return result;
}

std::vector<Interval> best_partition_into(size_t runs, const IntervalCosts& cost) {
  const size_t n = cost.kernels();
  std::vector<double> least(n + 1, kNoCost);  // of the first k in as many runs as there were rounds
  std::vector<std::vector<size_t>> starts;    // of the last run, by round
  least[0] = 0;
  for (size_t round = 0; round < runs; ++round) {
    std::vector<double> more(n + 1, kNoCost);
    std::vector<size_t>& start = starts.emplace_back(n + 1, 0);
    for (size_t first = 0; first < n; ++first) {
      for (size_t end = first + 1; end <= first + cost.longest(first); ++end) {
        const double sum = least[first] + cost[{first, end - 1}];
        if (sum >= more[end]) continue;
        more[end] = sum;
        start[end] = first;
      }
    }
    least = std::move(more);
  }
  std::vector<Interval> result;
  if (least[n] == kNoCost) return result;
  for (size_t end = n; end > 0; end = result.back().first) {
    result.push_back({starts[runs - 1 - result.size()][end], end - 1});
  }
  std::reverse(result.begin(), result.end());
  return result;
}

}  // namespace fuseflow
