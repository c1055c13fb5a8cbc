#include "graph/blocks.h"

#include <algorithm>

namespace fuseflow {

int64_t block_volume(const Graph& graph, const std::vector<int>& block) {
  int64_t volume = 1;
  for (const int index : block) {
    volume = std::min(2 * kMaxBlockVolume, volume * graph.indices[index].block);
  }
  return volume;
}

}  // namespace fuseflow
