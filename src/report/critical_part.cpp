#include "report/critical_part.h"

#include <algorithm>
#include <utility>

namespace fuseflow {
namespace {

double busy_of(const NodeGroup& group, const RowsByNode& rows) {
  double busy = 0;
  for (const size_t node : group.nodes) {
    const auto row = rows.find(node);
    if (row != rows.end()) busy = std::max(busy, row->second->busy);
  }
  return busy;
}

}  // namespace

std::set<size_t> critical_part(const std::vector<NodeGroup>& groups, const RowsByNode& rows,
                               size_t most) {
  std::vector<std::vector<size_t>> beside(groups.size());
  std::vector<std::pair<double, size_t>>
      busy;  // negative: the busiest is the least, then the first
  for (size_t g = 0; g < groups.size(); ++g) {
    busy.emplace_back(-busy_of(groups[g], rows), g);
    for (const size_t input : groups[g].inputs) {
      beside[g].push_back(input);
      beside[input].push_back(g);
    }
  }
  std::set<size_t> part;
  if (groups.empty()) return part;
  std::set<std::pair<double, size_t>> next = {*std::min_element(busy.begin(), busy.end())};
  while (!next.empty() && part.size() < most) {
    const size_t g = next.begin()->second;
    next.erase(next.begin());
    part.insert(g);
    for (const size_t other : beside[g]) {
      if (!part.contains(other)) next.insert(busy[other]);
    }
  }
  return part;
}

}  // namespace fuseflow
