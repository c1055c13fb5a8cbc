// Which groups of intermediates a search moves first: those near the statement that limits a
// region.
#pragma once

#include <vector>

#include "ir/program.h"
#include "passes/alike.h"

namespace fuseflow {

/// Sorts groups (of results of the region's statements) by how many statements they are away from
/// the one whose result is `limit`, to either side; of equal ones the order stays. What the
/// limiting node computes again is made of what is near it, so storing that is what most often
/// helps.
void nearest_first(std::vector<TensorGroup>& groups, const Region& region, TensorId limit);

}  // namespace fuseflow
