#include "support/dependency_order.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace fuseflow {

std::vector<size_t> dependency_order(const std::vector<std::vector<size_t>>& needs) {
  std::vector<size_t> missing(needs.size());
  std::vector<std::vector<size_t>> needed_by(needs.size());
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t n = 0; n < needs.size(); ++n) {
    missing[n] = needs[n].size();
    for (const size_t other : needs[n]) needed_by[other].push_back(n);
    if (missing[n] == 0) ready.push(n);
  }
  std::vector<size_t> order;
  order.reserve(needs.size());
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const size_t n : needed_by[order.back()]) {
      if (--missing[n] == 0) ready.push(n);
    }
  }
  return order;
}

size_t first_left_out(const std::vector<size_t>& order, size_t count) {
  std::vector<bool> placed(count);
  for (const size_t n : order) placed[n] = true;
  return static_cast<size_t>(std::find(placed.begin(), placed.end(), false) - placed.begin());
}

}  // namespace fuseflow
