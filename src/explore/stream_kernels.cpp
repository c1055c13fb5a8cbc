#include "explore/stream_kernels.h"

#include <fmt/format.h>

#include "explore/partition.h"
#include "ir/names.h"

namespace fuseflow {
namespace {

bool is_given_tiles(const Region& kernel) {
  return kernel.graph && kernel.graph->tiles;
}

/// A run that is planned costs nothing, a kernel alone that is not 1.
IntervalCosts costs_of_streams(const Program& kernels, const std::vector<Seed>& seeds) {
  IntervalCosts costs(kernels.regions.size());
  for (size_t k = 0; k < kernels.regions.size(); ++k) {
    costs[{k, k}] = is_given_tiles(kernels.regions[k]) ? 0 : 1;
  }
  for (const Seed& seed : seeds) {
    for (const Seed::Part& part : seed.parts) {
      if (part.planned) costs[part.kernels()] = 0;
    }
  }
  return costs;
}

}  // namespace

StreamKernels stream_kernels(const Program& kernels, const Machine& machine,
                             const std::vector<Seed>& seeds) {
  StreamKernels may(kernels.regions.size(), machine.has_streams);
  if (machine.has_streams) return may;
  const IntervalCosts costs = costs_of_streams(kernels, seeds);
  for (const Interval run : Partition(costs, 0).intervals()) {
    if (costs[run] > 0) may[run.first] = true;
  }
  return may;
}

void refuse_streams(std::vector<Point>& points, const Program& kernels, const Machine& machine,
                    const StreamKernels& may) {
  if (points.empty()) return;
  size_t kernel = points[0].first;
  while (kernel <= points[0].last && may[kernel]) ++kernel;
  if (kernel > points[0].last) return;
  for (Point& point : points) {
    const bool tiles =
        point.planned || (point.as_given && is_given_tiles(kernels.regions[point.first]));
    if (tiles || !point.refused.empty()) continue;
    point.refused = fmt::format("machine {} has no units for streams, and @{} has tiles",
                                machine.name, quote_if_needed(kernels.regions[kernel].name));
  }
}

}  // namespace fuseflow
