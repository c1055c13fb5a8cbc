// Counts from statistics of tensors instead of their entries: expected elements of every space,
// taking coordinates as independent of each other. Milliseconds at any size.
#pragma once

#include <array>
#include <vector>

#include "estimate/counts.h"
#include "estimate/row_needs.h"
#include "tensor/storage.h"

namespace fuseflow::estimate {

/// How often what occurs: in 33 classes by powers of two (the last one also of what is larger), how
/// many there are and their sum.
struct Histogram {
  std::array<double, 33> number{};
  std::array<double, 33> sum{};
  void add(uint64_t count, double times = 1);
  bool operator==(const Histogram&) const = default;
};

/// Statistics of one storage level that is not dense.
struct LevelStatistics {
  double fibers = 0;
  double entries = 0;
  double nonempty = 0;  ///< fibers that have entries
  double longest = 0;
  /// Rows that the entries name, one after the other, by their coordinates: of as many rows as the
  /// level's extent.
  ListedNeeds needs;
  Histogram lengths;  ///< of fibers
  /// Lengths of fibers, each as often as an entry of the level names it by its coordinate: what is
  /// met by going on from an entry of a square tensor. Empty if the tensor is not square.
  Histogram reached;
  Histogram coordinates;  ///< entries of each coordinate, over all fibers; empty: evenly spread
  bool operator==(const LevelStatistics&) const = default;
};

struct TensorStatistics {
  std::vector<LevelStatistics> levels;  ///< empty: not known (no listed levels)
};

TensorStatistics statistics_of(const Storage& storage);
std::vector<TensorStatistics> statistics_of(const Program& program, const TensorData& data);

struct StatisticalCounts {
  Structure structure;
  Counts counts;
};

/// `known`, by TensorId; what the graph writes is added to it.
StatisticalCounts count_statistics(const Program& program, const Graph& graph,
                                   std::vector<TensorStatistics>& known);

}  // namespace fuseflow::estimate
