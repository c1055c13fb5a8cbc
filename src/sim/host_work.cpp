#include "sim/host_work.h"

#include <algorithm>
#include <map>

#include "sim/threads/partition.h"

namespace fuseflow::engine {

HostWork host_work(const std::vector<std::unique_ptr<EngineNode>>& nodes) {
  struct Group {
    int nodes = 0;
    HostTime cost;
  };
  std::map<const NodeClock*, Group> groups;  // nodes with one clock are worked by one thread
  for (const auto& node : nodes) {
    Group& group = groups[node->clock];
    ++group.nodes;
    group.cost.tokens += node->host->tokens;
    group.cost.times += node->host->times;
  }
  HostWork work;
  Workload workload;
  for (const auto& [clock, group] : groups) {
    workload.node.push_back(group.cost.tokens + group.cost.times);
    work.all += workload.node.back();
    if (group.nodes > 1) work.replays += group.cost.times;
  }
  const std::vector<double> halves = loads(workload, divide(workload, 2), 2);
  work.larger_half = *std::max_element(halves.begin(), halves.end());
  return work;
}

}  // namespace fuseflow::engine
