// Candidate dataflow orders of a region: all legal ones if there are few, else a fixed sample.
#pragma once

#include <string>
#include <vector>

#include "lower/region_indices.h"

namespace fuseflow {

/// At most `limit` legal orders (names of region indices, outermost first), the default first, all
/// different. If there are more, the rest of the sample are the default's neighbours (two adjacent
/// indices exchanged), then sorts drawn with a fixed seed. The same for the same region always.
std::vector<std::vector<std::string>> candidate_orders(const RegionIndices& indices, size_t limit);

}  // namespace fuseflow
