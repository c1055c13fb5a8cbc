#include "lower/completed_region.h"

#include "lower/region_indices.h"

namespace fuseflow {

CompletedRegion::CompletedRegion(const Program& given, size_t region, const LowerOptions& options)
    : given_(given), region_(given.regions[region]) {
  try {
    region_.graph = lower_region(given, region, options);
  } catch (const LoweringConflict&) {
    changed_ = given;
    std::vector<std::string> notes;
    Graph graph = complete_and_lower(*changed_, region, notes, options);
    region_ = changed_->regions[region];
    region_.graph = std::move(graph);
  }
}

}  // namespace fuseflow
