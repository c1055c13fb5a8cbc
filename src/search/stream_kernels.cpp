#include "search/stream_kernels.h"

#include "search/partition.h"

namespace fuseflow {

bool has_tiles(const Region& region) {
  return region.graph && region.graph->tiles;
}

StreamKernels left_to_streams(const Program& kernels, const Machine& machine,
                              const std::vector<Interval>& planned) {
  StreamKernels may(kernels.regions.size(), machine.has_streams);
  if (machine.has_streams) return may;
  IntervalCosts costs(kernels.regions.size());  // a kernel alone that is not planned costs 1
  for (size_t k = 0; k < kernels.regions.size(); ++k) {
    costs[{k, k}] = has_tiles(kernels.regions[k]) ? 0 : 1;
  }
  for (const Interval run : planned) costs[run] = 0;
  for (const Interval run : Partition(costs, 0).intervals()) {
    if (costs[run] > 0) may[run.first] = true;
  }
  return may;
}

}  // namespace fuseflow
