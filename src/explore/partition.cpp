#include "explore/partition.h"

#include <algorithm>

namespace fuseflow {

Partition::Partition(size_t n, const std::vector<double>& cost, double pause)
    : n_(n), pause_(pause), before_(n + 1, kNone), after_(n + 1, kNone), start_(n + 1, 0) {
  before_[0] = 0;
  for (size_t end = 1; end <= n; ++end) {
    for (size_t first = 0; first < end; ++first) {
      const double sum = before_[first] + cost[first * n + end - 1] + pause;
      if (sum < before_[end]) {
        before_[end] = sum;
        start_[end] = first;
      }
    }
  }
  after_[n] = 0;
  for (size_t first = n; first-- > 0;) {
    for (size_t last = first; last < n; ++last) {
      after_[first] = std::min(after_[first], cost[first * n + last] + pause + after_[last + 1]);
    }
  }
}

std::vector<std::pair<size_t, size_t>> Partition::intervals() const {
  std::vector<std::pair<size_t, size_t>> result;
  if (before_[n_] == kNone) return result;
  for (size_t end = n_; end > 0; end = start_[end]) result.emplace_back(start_[end], end - 1);
  std::reverse(result.begin(), result.end());
  return result;
}

}  // namespace fuseflow
