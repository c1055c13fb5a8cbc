#include "passes/near_limit.h"

#include <algorithm>
#include <limits>
#include <map>

#include "passes/dependences.h"

namespace fuseflow {

namespace {

using Distances = std::map<TensorId, int>;

/// Statements from the one that makes `from` to those that make and use each tensor.
Distances distances(const Region& region, TensorId from) {
  std::map<TensorId, std::vector<TensorId>> beside;
  for (const Statement& statement : region.statements) {
    for (const TensorId used : uses(statement)) {
      beside[statement.result].push_back(used);
      beside[used].push_back(statement.result);
    }
  }
  Distances distance{{from, 0}};
  std::vector<TensorId> reached{from};
  for (size_t i = 0; i < reached.size(); ++i) {
    const int next = distance.at(reached[i]) + 1;
    for (const TensorId tensor : beside[reached[i]]) {
      if (distance.try_emplace(tensor, next).second) reached.push_back(tensor);
    }
  }
  return distance;
}

int distance_of(const TensorGroup& group, const Distances& distance) {
  int least = std::numeric_limits<int>::max();
  for (const TensorId tensor : group) {
    const auto found = distance.find(tensor);
    if (found != distance.end()) least = std::min(least, found->second);
  }
  return least;
}

}  // namespace

void nearest_first(std::vector<TensorGroup>& groups, const Region& region, TensorId limit) {
  const Distances distance = distances(region, limit);
  std::stable_sort(groups.begin(), groups.end(), [&](const TensorGroup& a, const TensorGroup& b) {
    return distance_of(a, distance) < distance_of(b, distance);
  });
}

}  // namespace fuseflow
