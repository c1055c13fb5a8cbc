#include "tensor/power_law.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "support/stop.h"

namespace fuseflow {

namespace {

/// Weights rank^(-1 / (alpha - 1)), ranks from 1.
std::vector<double> weights_by_rank(size_t count, double alpha) {
  std::vector<double> weights(count);
  PeriodicStopCheck stop;
  for (size_t r = 0; r < count; ++r) {
    stop.step();
    weights[r] = portable_exp(-portable_log(static_cast<double>(r + 1)) / (alpha - 1));
  }
  return weights;
}

/// A random permutation: vertex[r] has rank r.
std::vector<uint32_t> shuffled(Random& random, size_t count) {
  std::vector<uint32_t> vertices(count);
  std::iota(vertices.begin(), vertices.end(), 0U);
  PeriodicStopCheck stop;
  for (size_t k = count; k > 1; --k) {
    stop.step();
    std::swap(vertices[k - 1], vertices[random.below(k)]);
  }
  return vertices;
}

/// Degrees by rank that sum to `edges`: the rounded running sum of the weights' shares, each at
/// most `columns`; what a row cannot take, later rows share.
std::vector<uint64_t> degrees_by_rank(const std::vector<double>& weights, uint64_t edges,
                                      uint64_t columns) {
  double weight_left = std::accumulate(weights.begin(), weights.end(), 0.0);
  uint64_t left = edges;
  double carry = 0;
  std::vector<uint64_t> degrees(weights.size());
  for (size_t r = 0; r < weights.size(); ++r) {
    const double share = weight_left > 0 ? static_cast<double>(left) * weights[r] / weight_left : 0;
    carry += share;
    auto degree = static_cast<uint64_t>(std::max(0.0, carry));
    const uint64_t rows_after = weights.size() - r - 1;
    // What the rows after this one cannot hold must be taken here.
    const uint64_t forced = left > rows_after * columns ? left - rows_after * columns : 0;
    degree = std::min({std::max(degree, forced), columns, left});
    carry = std::clamp(carry - static_cast<double>(degree), 0.0, 1.0);
    degrees[r] = degree;
    left -= degree;
    weight_left -= weights[r];
  }
  // Rounding may leave a few over: they go to the first rows that have room.
  for (size_t r = 0; r < degrees.size() && left > 0; ++r) {
    const uint64_t more = std::min(left, columns - degrees[r]);
    degrees[r] += more;
    left -= more;
  }
  return degrees;
}

/// Draws ranks with given weights in constant time (Walker's alias method).
class AliasTable {
 public:
  explicit AliasTable(const std::vector<double>& weights)
      : threshold_(weights.size()), alias_(weights.size()) {
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<uint32_t> small;
    std::vector<uint32_t> large;
    for (size_t r = 0; r < weights.size(); ++r) {
      threshold_[r] = weights[r] / total * static_cast<double>(weights.size());
      alias_[r] = static_cast<uint32_t>(r);
      (threshold_[r] < 1 ? small : large).push_back(static_cast<uint32_t>(r));
    }
    while (!small.empty() && !large.empty()) {
      const uint32_t low = small.back();
      const uint32_t high = large.back();
      small.pop_back();
      alias_[low] = high;
      threshold_[high] -= 1 - threshold_[low];
      if (threshold_[high] < 1) {
        large.pop_back();
        small.push_back(high);
      }
    }
    for (const uint32_t r : small) threshold_[r] = 1;
  }

  uint32_t draw(Random& random) const {
    const uint64_t r = random.below(threshold_.size());
    return random.uniform() < threshold_[r] ? static_cast<uint32_t>(r) : alias_[r];
  }

 private:
  std::vector<double> threshold_;
  std::vector<uint32_t> alias_;
};

/// Draws distinct column ranks for one row after the other.
class ColumnSampler {
 public:
  explicit ColumnSampler(std::vector<double> weights)
      : weights_(std::move(weights)), table_(weights_), drawn_in_row_(weights_.size(), 0) {}

  /// `count` distinct ranks, drawn one after the other by weight from those left.
  void draw(Random& random, uint64_t count, std::vector<uint32_t>& picked) {
    picked.clear();
    ++row_;
    const uint64_t tries = count > weights_.size() / 8 ? 0 : 20 * count + 100;
    for (uint64_t k = 0; k < tries && picked.size() < count; ++k) {
      stop_.step();
      take(table_.draw(random), picked);
    }
    if (picked.size() < count) draw_rest(random, count, picked);
  }

 private:
  void take(uint32_t rank, std::vector<uint32_t>& picked) {
    if (drawn_in_row_[rank] == row_) return;
    drawn_in_row_[rank] = row_;
    picked.push_back(rank);
  }

  /// The ranks with the smallest exponential arrival times -log(u) / weight among those left.
  void draw_rest(Random& random, uint64_t count, std::vector<uint32_t>& picked) {
    std::vector<std::pair<double, uint32_t>> arrivals;
    for (uint32_t rank = 0; rank < weights_.size(); ++rank) {
      stop_.step();
      if (drawn_in_row_[rank] == row_) continue;
      arrivals.emplace_back(-portable_log(random.uniform()) / weights_[rank], rank);
    }
    const size_t missing = count - picked.size();
    std::nth_element(arrivals.begin(), arrivals.begin() + static_cast<std::ptrdiff_t>(missing),
                     arrivals.end());
    for (size_t k = 0; k < missing; ++k) take(arrivals[k].second, picked);
  }

  std::vector<double> weights_;
  AliasTable table_;
  std::vector<uint64_t> drawn_in_row_;  ///< the last row that drew a rank, counted from 1
  uint64_t row_ = 0;
  PeriodicStopCheck stop_;
};

}  // namespace

void power_law_edges(Random& random, int64_t rows, int64_t columns, uint64_t edges, double alpha,
                     const std::function<void(int64_t, int64_t)>& add) {
  const auto row_count = static_cast<size_t>(rows);
  const auto column_count = static_cast<size_t>(columns);
  const std::vector<uint32_t> row_order = shuffled(random, row_count);
  const std::vector<uint32_t> column_order =
      rows == columns ? row_order : shuffled(random, column_count);
  const std::vector<uint64_t> by_rank =
      degrees_by_rank(weights_by_rank(row_count, alpha), edges, column_count);
  std::vector<uint64_t> degrees(row_count);
  for (size_t r = 0; r < row_count; ++r) degrees[row_order[r]] = by_rank[r];
  ColumnSampler sampler(weights_by_rank(column_count, alpha));
  std::vector<uint32_t> picked;
  PeriodicStopCheck stop;
  for (size_t i = 0; i < row_count; ++i) {
    stop.step();
    sampler.draw(random, degrees[i], picked);
    for (uint32_t& rank : picked) rank = column_order[rank];
    std::sort(picked.begin(), picked.end());
    for (const uint32_t j : picked) add(static_cast<int64_t>(i), j);
  }
}

}  // namespace fuseflow
