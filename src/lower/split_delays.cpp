#include "lower/split_delays.h"

#include <algorithm>

#include "support/ceil_div.h"

namespace fuseflow {

SplitDelays::SplitDelays(const Graph& graph, const Spaces& spaces, const SplitPlan& plan,
                         const Parallel& parallel)
    : graph_(graph), spaces_(spaces), plan_(plan), behind_(graph.streams.size(), 0) {
  const int index = spaces.spaces[static_cast<size_t>(plan.space)].index;
  const int64_t extent = std::max<int64_t>(graph.indices[static_cast<size_t>(index)].extent, 1);
  turn_ = parallel.factor + 2;
  if (parallel.contiguous) {  // a copy's last element ends with the fiber
    turn_ = extent + 2;
    share_ = ceil_div(extent, parallel.factor) + 2;
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const bool buffer = node.kind == NodeKind::buffer;
    if (buffer && spaces.of_stream[node.outputs[0]] == plan.space) {
      reduction_ = std::max(reduction_, node.capacity);
      least_reduction_ = std::max(least_reduction_, node.least > 0 ? node.least : node.capacity);
    }
    const bool copied = plan.mode[n] != CopyMode::keep;
    int64_t most = copied ? 0 : latest(node);
    for (const Input& input : node.inputs) {
      if (!copied || input.is_immediate() || !plan.below[spaces.of_stream[input.stream]]) continue;
      const bool from_copies = plan.mode[graph.streams[input.stream].producer] == CopyMode::copy;
      if (!from_copies) dealt_ = std::max(dealt_, outside(input.stream));
      most = std::max(most, behind_[input.stream]);
    }
    for (const StreamId s : node.outputs) behind_[s] = most;
  }
}

int64_t SplitDelays::outside(StreamId s) const {
  const bool copied = plan_.mode[graph_.streams[s].producer] == CopyMode::copy;
  return behind_[s] + (copied ? turn_ : 0);
}

int64_t SplitDelays::latest(const Node& node) const {
  int64_t most = 0;
  for (const Input& input : node.inputs) {
    if (input.is_immediate() || !plan_.below[spaces_.of_stream[input.stream]]) continue;
    most = std::max(most, outside(input.stream));
  }
  return most;
}

}  // namespace fuseflow
