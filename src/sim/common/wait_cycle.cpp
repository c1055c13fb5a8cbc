#include "sim/common/wait_cycle.h"

#include <map>
#include <utility>

namespace fuseflow {

// Every node waits for exactly one other, so each walk ends in a cycle or at a node that does not
// wait.
std::vector<Wait> shortest_wait_cycle(const std::vector<Wait>& waits) {
  std::map<NodeId, const Wait*> by_node;
  for (const Wait& wait : waits) by_node[wait.node] = &wait;
  std::vector<Wait> best;
  for (const auto& [start, first] : by_node) {
    std::vector<Wait> cycle;
    const Wait* at = first;
    while (at != nullptr && cycle.size() <= waits.size()) {
      cycle.push_back(*at);
      if (at->other == start) break;
      const auto next = by_node.find(at->other);
      at = next == by_node.end() ? nullptr : next->second;
    }
    if (at == nullptr || cycle.back().other != start) continue;
    if (best.empty() || cycle.size() < best.size()) best = std::move(cycle);
  }
  return best;
}

}  // namespace fuseflow
