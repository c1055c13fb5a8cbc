// Topological sorts of a small partial order: listing them one by one, and counting them exactly.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fuseflow {

/// n elements; `before[i]` lists the elements that stand before i. Must have no cycle.
struct PartialOrder {
  std::vector<std::vector<int>> before;
  size_t size() const { return before.size(); }
};

/// Calls `visit` with every topological sort, in lexicographic order, until it returns false.
/// Memory does not depend on their number. Returns false if it was stopped.
bool for_each_sort(const PartialOrder& order,
                   const std::function<bool(const std::vector<int>&)>& visit);

/// A natural number up to 2^128 - 1.
struct SortCount {
  std::string number;   ///< decimal
  bool exact = true;    ///< else there are at least `number` of them
  std::string stopped;  ///< why it is not exact
};

/// Counts by dynamic programming over the down-sets of the order, component by component. Stops
/// when more than `max_sets` down-sets would have to be visited, or beyond 2^128.
SortCount count_sorts(const PartialOrder& order, uint64_t max_sets = 2'000'000);

}  // namespace fuseflow
